"""The offline language model: rules and word lists for prose, names, dates and topics. No network, no learning."""
