"""Options: flag > environment > file > default, refused with the place and a suggestion, shown with their source."""

import json
from pathlib import Path

import pytest

from flare_local.cli.sources import CONCERNS, FILE_NAME, OPTIONS, resolve
from flare_local.config import MethodOptions, ModelOptions, RetrievalOptions
from flare_local.engine.call import Paragraph, Sampling, Sentence, Tokens
from flare_local.engine.engine import MAX_FORWARD_TOKENS
from flare_local.errors import ConfigError, UsageError
from flare_local.option import options_of
from tests.cli.shell import Shell, is_one_clear_line

ROOT = Path(__file__).parents[2]


def toml(text: str) -> Path:
    path = Path("mine.toml")
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_defaults_are_the_papers() -> None:
    options = resolve({}, environment={})
    assert (options.method.theta, options.method.beta, options.method.top_k) == (0.8, 0.4, 2)
    assert (options.method.look_ahead, options.method.max_new_tokens) == (64, 256)
    assert set(options.sources.values()) == {"default"}


def test_a_flag_wins_over_the_environment_over_the_file() -> None:
    path = toml("theta = 0.1\nbeta = 0.1\ntop-k = 7\n")
    options = resolve({"theta": "0.3"}, path, {"FLARE_THETA": "0.2", "FLARE_BETA": "0.2"})
    assert (options.method.theta, options.method.beta, options.method.top_k) == (0.3, 0.2, 7)
    assert options.sources["theta"] == "flag"
    assert options.sources["beta"] == "environment FLARE_BETA"
    assert options.sources["top_k"] == f"file {path}"
    assert options.sources["seed"] == "default"


def test_the_file_is_that_of_the_flag_else_of_the_environment_else_of_the_folder() -> None:
    Path(FILE_NAME).write_text("seed = 1")
    Path("second.toml").write_text("seed = 2")
    Path("third.toml").write_text("seed = 3")
    assert resolve({}, environment={}).method.seed == 1
    assert resolve({}, environment={"FLARE_CONFIG": "second.toml"}).method.seed == 2
    assert resolve({}, Path("third.toml"), {"FLARE_CONFIG": "second.toml"}).method.seed == 3


def test_keys_may_be_written_with_dashes_or_underscores() -> None:
    assert resolve({}, toml("top-k = 3\nlook_ahead = 9"), {}).method == MethodOptions(top_k=3, look_ahead=9)


def test_memory_may_be_a_bare_number_in_the_file() -> None:
    assert resolve({}, toml("kv-memory = 0.25"), {}).model.kv_memory == "0.25"


def test_an_empty_variable_unsets_an_optional_option() -> None:
    assert resolve({}, toml('end-after = "2wiki"'), {"FLARE_END_AFTER": ""}).method.end_after is None


def test_switches_are_read_from_every_source() -> None:
    assert resolve({}, toml("reuse = false"), {}).model.reuse is False
    assert resolve({}, toml("reuse = false"), {"FLARE_REUSE": "on"}).model.reuse is True
    assert resolve({"reuse": False}, None, {"FLARE_REUSE": "on"}).model.reuse is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("thet = 0.5", ["'thet'", "Did you mean theta?", "mine.toml"]),
        ("zebra = 1", ["'zebra'", "config show"]),
        ("[method]\ntheta = 0.5", ["mine.toml", "method"]),
        ("theta = 7", ["theta in mine.toml", "7", "from 0 to 1"]),
        ('theta = "0.5"', ["theta in mine.toml", "a number"]),
        ("theta = true", ["theta in mine.toml"]),
        ("top-k = 2.5", ["top-k in mine.toml"]),
        ("theta = nan", ["theta in mine.toml"]),
        ("k1 = inf", ["k1 in mine.toml"]),
        ("theta =", ["mine.toml", "TOML"]),
        ("theta = 0.5\ntheta = 0.6", ["mine.toml", "TOML"]),
        ('method = "flare_drect"', ["Did you mean flare_direct?"]),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({}, toml(text), {})
    for word in words:
        assert word in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    Path("latin.toml").write_bytes('instruction = "café"'.encode("latin-1"))
    for path in (Path("absent.toml"), tmp_path, Path("latin.toml")):
        with pytest.raises(ConfigError, match=path.name):
            resolve({}, path, {})


def test_a_likely_slip_in_the_environment_is_refused_and_strangers_are_not() -> None:
    with pytest.raises(ConfigError, match="FLARE_THETA"):
        resolve({}, None, {"FLARE_THETHA": "0.5"})
    resolve({}, None, {"FLARE_HOME": "/x", "FLARE_CACHE": "/y", "FLARE_JAVA_MEMORY": "1g", "FLARETHETA": "7"})
    with pytest.raises(UsageError, match="FLARE_TOP_K"):
        resolve({}, None, {"FLARE_TOP_K": "many"})


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("theta", "7"), ("theta", "-0.1"), ("theta", "nan"), ("theta", "seven"), ("beta", "1.01"), ("top_k", "0"),
        ("top_k", "2.5"), ("look_ahead", "-1"), ("max_new_tokens", "0"), ("max_sentences", "0"), ("unit", "chapter"),
        ("unit", "tokens:0"), ("end_after", "("), ("temperature", "-1"), ("temperature", "inf"), ("top_p", "0"),
        ("seed", "-1"), ("dtype", "float8"), ("device", "tpu"), ("kv_memory", "0"), ("kv_memory", "4"),
        ("kv_memory", "lots"), ("context", "0"), ("k1", "-1"), ("b", "2"), ("query_tokens", "0"),
        ("bm25", "papr"), ("schedule", "x"), ("method", "flare"), ("first_sentence", "maybe"), ("splitter", "spacy"),
        ("max_forward_tokens", "0"), ("kernels", "cuda"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_naming_flag_value_and_what_is_allowed(flag: str, value: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve({flag: value}, None, {})
    assert OPTIONS[flag].flag in str(caught.value)
    assert value in str(caught.value)
    assert OPTIONS[flag].allowed in str(caught.value)


def test_options_made_in_python_are_checked_in_the_same_words() -> None:
    with pytest.raises(UsageError, match="--theta is 7; allowed is a number from 0 to 1"):
        MethodOptions(theta=7)
    with pytest.raises(UsageError, match="--index"):
        RetrievalOptions(index=5)  # type: ignore[arg-type]


def test_options_know_their_engine_values() -> None:
    assert MethodOptions().until == Sentence()
    assert MethodOptions(splitter="trained").until == Sentence(trained=True)
    assert MethodOptions(unit="paragraph").until == Paragraph()
    assert MethodOptions(unit="tokens:12").until == Tokens(12)
    assert MethodOptions(temperature=0.5, top_p=0.9, seed=3).sampling == Sampling(0.5, 0.9, 3)


def test_the_default_of_max_forward_tokens_is_the_engines() -> None:
    assert ModelOptions().max_forward_tokens == MAX_FORWARD_TOKENS


def test_config_show_prints_a_file_that_resolves_to_the_same_options(shell: Shell) -> None:
    said = shell("config", "show", "--theta", "0.25", "--instruction", 'say "yes"\n', "--no-reuse", "--k1", "1")
    assert said.code == 0
    again = resolve({}, toml(said.out), {})
    assert (again.method.theta, again.method.instruction) == (0.25, 'say "yes"\n')
    assert (again.model.reuse, again.retrieval.k1) == (False, 1.0)


def test_config_show_names_the_source_of_each_option(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLARE_BETA", "0.5")
    values = json.loads(shell("config", "show", "--top-k", "4", "--json").out)
    assert values["top_k"] == {"value": 4, "source": "flag"}
    assert values["beta"] == {"value": 0.5, "source": "environment FLARE_BETA"}
    assert values["theta"] == {"value": 0.8, "source": "default"}
    assert set(values) == set(OPTIONS)


def test_config_show_with_a_missing_file_is_one_line(shell: Shell) -> None:
    assert is_one_clear_line(shell("config", "show", "--config", "absent.toml"), code=2)


def test_no_two_concerns_share_an_option() -> None:
    names = [option.name for concern in CONCERNS for option in options_of(concern)]
    assert len(names) == len(set(names))


def test_the_page_on_configuration_names_every_option() -> None:
    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    assert [option.name for option in OPTIONS.values() if f"`{option.flag[2:]}`" not in page] == []
