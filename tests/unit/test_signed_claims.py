"""Signatures of claims, and their cache in the process (checked in `test_row_level_security`)."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import replace
from uuid import uuid4

from neurigraph_pipelines.access.authentication import new_api_key
from neurigraph_pipelines.database.secret import CLAIMS_LIFETIME_SECONDS, Secret
from neurigraph_pipelines.model import Claims

KEEPS = 10


def test_signatures_are_cached_for_five_minutes() -> None:
    secret, claims = Secret("one secret"), Claims("somebody", "persona", uuid4())
    signed = set()
    started = int(time.time())
    for _ in range(100):
        payload, signature = secret.sign(claims)
        signed.add((payload, signature))
        stated = json.loads(payload)
        assert stated["exp"] > time.time() + CLAIMS_LIFETIME_SECONDS - KEEPS - 1
        assert stated["exp"] <= time.time() + CLAIMS_LIFETIME_SECONDS
    assert len(signed) <= 2 + (time.time() - started) / KEEPS
    assert {name: stated[name] for name in ("sub", "role", "user_id")} == {
        "sub": "somebody",
        "role": "persona",
        "user_id": str(claims.user_id),
    }


def test_signatures_are_per_claims() -> None:
    one, other = Secret("one secret"), Secret("another secret")
    claims = Claims("somebody", "persona", uuid4())
    others = [replace(claims, sub="else"), replace(claims, role="user"), replace(claims, user_id=uuid4())]
    for _ in range(2):
        signatures = {secret.sign(each)[1] for secret in (one, other) for each in (claims, *others)}
        assert len(signatures) == 8
        for each in (claims, *others):
            assert json.loads(one.sign(each)[0])["sub"] == each.sub


def test_cache_overflow_still_signs() -> None:
    secret = Secret("one secret")
    askers = [Claims(f"asker {number}", "third_party", uuid4()) for number in range(1_500)]
    assert len({secret.sign(claims)[1] for claims in askers}) == len(askers)
    assert json.loads(secret.sign(askers[0])[0])["sub"] == "asker 0"


def test_pads_give_the_same_signature() -> None:
    """The database computes HMAC from its definition (RFC 2104), with the padded keys."""
    inner, outer = Secret("one secret").claims_pads()
    payload, signature = Secret("one secret").sign(Claims("somebody", "persona", uuid4()))
    digest = hashlib.sha256(inner + payload.encode()).digest()
    assert hmac.compare_digest(hashlib.sha256(outer + digest).hexdigest(), signature)


def test_keys_have_256_random_bits() -> None:
    keys = {new_api_key() for _ in range(100)}
    assert {len(key) for key in keys} == {len("ng_") + 43}
    assert len(keys) == 100
