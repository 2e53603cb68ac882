"""Keys that are derived from the installation's secrets, and texts that it seals."""

from __future__ import annotations

from uuid import UUID

import pytest

from neurigraph_pipelines.database.secret import Secret

SECRET = Secret("what signs claims, in every release", "what passwords follow from")


def test_derived_keys_are_those_of_every_release() -> None:
    """Databases, peers and receivers of webhooks hold what follows from these keys: an upgrade must not change them."""
    webhook = UUID("018f4f3c-0000-7000-8000-000000000001")
    derived = {
        "role": SECRET.role_password("neurigraph_api"),
        "roles": SECRET.roles_fingerprint(),
        "cursor": SECRET.cursor_mac(b"a place in a list").hex(),
        "webhook": SECRET.webhook_secret(webhook, 1).hex(),
        "rotated": SECRET.webhook_secret(webhook, 2).hex(),
        "peers": SECRET.peer_key_key().hex(),
        "publisher": SECRET.publisher_key_seed().hex(),
    }
    assert derived == {
        "role": "suFmLBc_3crQLMLokIXFz9AxkR0mFCq1kmZZl1fK5RI",
        "roles": "fd765a7b3523bbdd9b2892e777052f8c",
        "cursor": "2798c2d4b5acec4f26edcd5f2cb3d3fd2e84c7e2312984d2cb8a054db25e505c",
        "webhook": "08777c09518179f62135576aa2b8a288a6be327f2c5037d927a5ddd2926fd3cd",
        "rotated": "23e9e5fe13cecf422ab44f7890076aea241b8d6b18327e48f20ff6d42084e1ce",
        "peers": "2069da56f2562c88ee10801ce7380932505afe8592fd38298e532f6ddf843dbb",
        "publisher": "c68eebd7425cc3c2098587323879fb91d8276bfd57567dd1d67d36ca4bc07c2e",
    }


def test_both_secrets_have_a_part() -> None:
    """Passwords of roles follow from the second secret alone, everything else from the first alone."""
    first, second = (
        Secret("another", "what passwords follow from"),
        Secret("what signs claims, in every release", "else"),
    )
    assert first.role_password("api") == SECRET.role_password("api") != second.role_password("api")
    assert first.roles_fingerprint() == SECRET.roles_fingerprint() != second.roles_fingerprint()
    assert second.cursor_mac(b"x") == SECRET.cursor_mac(b"x") != first.cursor_mac(b"x")
    assert second.claims_pads() == SECRET.claims_pads() != first.claims_pads()


@pytest.mark.parametrize("length", range(9))
def test_sealed_text_opens(length: int) -> None:
    """Texts of every length: what is sealed has no padding, and opening puts it back."""
    content = {"subject": "ü" * length, "expires": 10**length}
    assert SECRET.unseal("a purpose", SECRET.seal("a purpose", content)) == content


def test_sealed_text_opens_for_its_purpose_and_maker_only() -> None:
    sealed = SECRET.seal("a purpose", {"erase": ["one"]})
    other = SECRET.seal("a purpose", {"erase": ["two"]})
    packed, _, seal = sealed.partition(".")
    for text in (
        f"{packed}.{other.partition('.')[2]}",
        f"{other.partition('.')[0]}.{seal}",
        packed,
        f".{seal}",
        "",
        ".",
    ):
        assert SECRET.unseal("a purpose", text) is None, text
    assert SECRET.unseal("another purpose", sealed) is None
    assert Secret("another").unseal("a purpose", sealed) is None
    assert SECRET.unseal("a purpose", sealed) == {"erase": ["one"]}
