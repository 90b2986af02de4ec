"""Bad spec files: each kind of fault is told with file, line, column, what was found and what is expected."""

import shutil
from pathlib import Path

import pytest

from kvwall.audit.check import check
from kvwall.specs import SpecErrors

ROOT = Path(__file__).parents[1]
B200 = "data/hardware/b200.yaml"
LLAMA = "data/models/llama-3-70b.yaml"
STEP = "data/accounting/decode_step.yaml"
EDITION = "config/editions/paper.yaml"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of data/ and config/ as the working directory."""
    for name in ("data", "config"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def faults():
    with pytest.raises(SpecErrors) as caught:
        check()
    return [str(fault) for fault in caught.value.faults]


def edit(path, old, new):
    text = Path(path).read_text(encoding="utf-8")
    assert old in text, f"{path} does not hold {old!r}"
    Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")


def line_of(path, text):
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_the_committed_specs_have_no_fault(place):
    check()


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        (B200, "value: 8.0 TB/s", "value: 8.0 TB", "hbm_bandwidth: found the unit 'TB'"),
        (B200, "value: 192 GB", "value: 192 GB/s", "hbm_capacity: found the unit 'GB/s'"),
        (B200, "value: 8.0 TB/s", "value: -8.0 TB/s", "hbm_bandwidth: found -8e+12, expected a value above zero"),
        (B200, "value: 8.0 TB/s", "value: 0 TB/s", "hbm_bandwidth: found 0, expected a value above zero"),
        (B200, "value: 8.0 TB/s", "value: 1e400 TB/s", "hbm_bandwidth.value: found '1e400', expected a finite number"),
        (B200, "value: 8.0 TB/s", "value: .inf", "hbm_bandwidth.value: found '.inf', expected a number and a unit"),
        (B200, "value: 8.0 TB/s", "value: .nan", "hbm_bandwidth.value: found '.nan', expected a number and a unit"),
        (B200, "value: 8.0 TB/s", "value: fast", "hbm_bandwidth.value: found 'fast', expected a number and a unit"),
        (B200, "value: 8.0 TB/s", "value: [8]", "hbm_bandwidth.value: found no single value"),
        (B200, "value: 8.0 TB/s", "value:", "hbm_bandwidth.value: found no single value"),
        (B200, "value: 8.0 TB/s", "value: 8.0 GB/s", "hbm_bandwidth: with bf16_dense gives a ridge point of"),
        (B200, "value: 8.0 TB/s", "value: __import__('os').system('touch x')", "expected a number and a unit"),
        (B200, "vendor:", "vender:", "vender: unknown key"),
        (B200, "vendor:", "vender:", "vendor: missing key"),
        (B200, "peer_link: nvlink-5", "peer_link: nvlink-9", "peer_link: found 'nvlink-9', expected the id of a file"),
        (B200, "id: b200", "id: b201", "id: found 'b201', expected the file's name 'b200'"),
        (LLAMA, "value: 8 head", "value: 7 head", "groups.0: query_heads is no multiple of kv_heads"),
        (LLAMA, "value: 80 layer", "value: 80.5 layer", "groups.0.layers: found 80.5, expected a whole number"),
        (LLAMA, "value: 128 element", "value: 4096 element", "groups: gives 10,485,760 bytes per token"),
        (LLAMA, "kind: full", "kind: linear", "groups.0: "),
        (STEP, "f_mac*q*d*n_q*d_h", "__import__('os')", "ops.0.flops: "),
        (STEP, "f_mac*q*d*n_q*d_h", "d.real", "ops.0.flops: "),
        (STEP, "f_mac*q*d*n_q*d_h", "9**9**9**9", "ops.0.flops: "),
        (STEP, "f_mac*q*d*n_q*d_h", "d*n_unknown", "ops.0.flops: "),
        (EDITION, "- mi300x", "- mi999x", "hardware.2: found 'mi999x', expected the id of a file"),
    ],
)  # fmt: skip
def test_each_fault_is_told_where_it_stands(place, path, old, new, expected):
    edit(path, old, new)
    found = [fault for fault in faults() if expected in fault]
    assert found, faults()
    name, line, column, key, _ = found[0].split(":", 4)
    assert name == path
    assert int(column) >= 1
    last = key.strip().split(".")[-1]
    stands_at = Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
    assert last.isdigit() or last in stands_at or "missing" in found[0]


def test_all_faults_of_all_files_are_told_at_once(place):
    edit(B200, "value: 8.0 TB/s", "value: 8.0 TB")
    edit(B200, "value: 192 GB", "value: -1 GB")
    edit(LLAMA, "value: 80 layer", "value: 80 leyer")
    edit(STEP, "f_mac*q*d*n_q*d_h", "eval(d)")
    paths = {fault.split(":")[0] for fault in faults()}
    assert paths == {B200, LLAMA, STEP}
    assert len(faults()) >= 4


def test_duplicate_keys_are_faults_with_both_lines(place):
    edit(B200, "vendor:", "name: twice\nvendor:")
    (fault,) = faults()
    line = line_of(B200, "name: twice")
    assert fault.startswith(f"{B200}:{line}:1: name: duplicate key, first given on line ")


def test_an_alias_bomb_is_refused_before_it_unfolds(place):
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12))
    Path("data/hardware/bomb.yaml").write_text(bomb, encoding="utf-8")
    assert any("aliases are not allowed" in fault for fault in faults())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a: [1, 2", "YAML"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"- 1\n- 2\n", "expected a mapping"),
        (b"id: !!python/object/apply:os.system ['true']\n", "tags are not allowed"),
        (b"[" * 500, "nested deeper"),
        (b"at: 3\nid: odd\n", "this name is reserved"),
        (b"", "expected a mapping"),
        (b"id: odd\nname: [\xc3\xa4, {b: c}]\n", "name: "),
    ],
)
def test_files_that_are_no_specs(place, content, expected):
    Path("data/hardware/odd.yaml").write_bytes(content)
    found = faults()
    assert all(fault.startswith("data/hardware/odd.yaml:") for fault in found)
    assert any(expected in fault for fault in found), found


def test_an_unknown_source_is_told_even_beside_other_faults(place):
    edit(B200, "value: 8.0 TB/s\n", "value: 8.0 TB\n")
    text = Path(B200).read_text(encoding="utf-8")
    name = text.split("source: ", 1)[1].split()[0]
    edit(B200, f"source: {name}", "source: nowhere")
    assert any("found the source 'nowhere'" in fault for fault in faults())


def test_yaml_words_stay_words(place):
    """YAML 1.1 reads NO as False and 1e9 as text; here both are what they look like."""
    edit(LLAMA, "name: Llama-3-70B", "name: NO")
    assert check().models["llama-3-70b"].name == "NO"


def test_a_value_keeps_its_line(place):
    bandwidth = check().hardware["b200"].hbm_bandwidth
    assert bandwidth.at == f"{B200}:{line_of(B200, 'value: 8.0 TB/s')}"
