"""What the offline language model knows about language: prose, names, dates, topics. No network, no learning."""
