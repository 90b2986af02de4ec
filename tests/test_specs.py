"""Bad spec files: each kind of fault is told with file, line, column, what was found and what is expected."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kvwall.audit.check import check
from kvwall.specs import Fault, SpecErrors
from kvwall.specs.claims_schema import number

ROOT = Path(__file__).parents[1]
B200 = "data/hardware/b200.yaml"
LLAMA = "data/models/llama-3-70b.yaml"
STEP = "data/accounting/decode_step.yaml"
EDITION = "config/editions/paper.yaml"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A copy of data/ and config/ as the working directory; without the claims, which no test here changes."""
    for name in ("data", "config"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("claims"))
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


def test_the_committed_specs_have_no_fault(monkeypatch):
    monkeypatch.chdir(ROOT)
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
        (B200, "value: 8.0 TB/s", "value: 8,0 TB/s", "hbm_bandwidth.value: found '8,0 TB/s', expected a number"),
        (B200, "value: 2 die", "value: 2 stack", "partition: found the unit 'stack' in count, expected 'die'"),
        (B200, "value: 2 die", "value: 2 head", "partition.count: found the unit 'head', expected the unit"),
        (B200, "name: B200", 'name: "=1+1"', "name: found '=1+1', which spreadsheets run as a formula"),
        (B200, "name: B200", "name: '@B200'", "name: found '@B200', which spreadsheets run as a formula"),
        (B200, "name: B200", 'name: "B\\e[2J"', "name: found U+001B"),
        (B200, "name: B200", 'name: "B\\u202e002"', "name: found U+202E"),
        (B200, "name: B200", 'name: "B\\u2028002"', "name: found U+2028"),
        (B200, "name: B200", 'name: "B\\n002"', "name: found U+000A"),
        (B200, "name: B200", 'name: "B\\ud800"', "name: found "),
        (B200, "name: B200", 'name: ""', "name: found '', expected at least 1 character"),
        (B200, "name: B200", "name: [a]", "name: found a list of 1, expected a single text"),
        (B200, "id: b200", "id: B200!", "id: found 'B200!', expected a text of the form"),
        (B200, "status: disclosed", "status: secret", "die_to_die_status: found 'secret', expected 'disclosed'"),
        (LLAMA, "kind: full", "kind: linear", "groups.0: found 'linear', expected 'full', 'mla'"),
        (LLAMA, "value: 8 head", "value: 8 layer", "groups.0.kv_heads: found the unit 'layer'"),
        (LLAMA, "value: 8 head", "value: 8", "groups.0.kv_heads: found the unit '', expected the unit 'head'"),
        (LLAMA, "value: 8192", "value: 8192 layer", "hidden_size: found the unit 'layer', expected no unit"),
        (LLAMA, "value: 128 element", "value: 128 parameter", "groups.0.head_dim: found the unit 'parameter'"),
        (LLAMA, "value: 70553706496", "value: 7055370649", "parameters.exact: found 7.05537e+09, expected within a"),
        (STEP, "f_mac*q*d*n_q*d_h", "1/0", "ops.0.flops: column 2: found a division by zero"),
        (STEP, "f_mac*q*d*n_q*d_h", "d/(1-1)", "ops.0.flops: column 3: found a division by zero"),
        (STEP, "f_mac*q*d*n_q*d_h", "d/(0*q)", "ops.0.flops: column 3: found a division by zero"),
        (STEP, "f_mac*q*d*n_q*d_h", "d*0**-1", "ops.0.flops: column 2: found a division by zero"),
        (STEP, "  - n_q", "  - d\n  - n_q", "symbols.1: found 'd' twice"),
        (STEP, "name: key_projection", "name: query_projection", "ops.1.name: found 'query_projection' twice"),
        (EDITION, "  - b200", "  - h100-sxm5", "hardware.1: found 'h100-sxm5' twice"),
        (EDITION, "    - 512 ktoken", "    - 128000 token", "table_contexts.1: found '128000 token' after '128 kto"),
        (EDITION, "    - 512 ktoken", "    - 64 ktoken", "table_contexts.1: found '64 ktoken' after '128 ktoken', exp"),
        (EDITION, "    - 512 ktoken", "    - 512.0001 ktoken", "table_contexts.1: found 512000, expected a whole"),
        (EDITION, "    - 8 sequence", "    - 8.5 sequence", "table_batches.1: found 8.5, expected a whole"),
        (EDITION, "    - 1 sequence", "    - 2 sequence", "table_batches.0: found '2 sequence', expected 1"),
        (EDITION, "    - 8 sequence", "    - 8 device", "table_batches.1: found the unit '8 device', expected"),
        (EDITION, "    - 1 device", "    - 1.5 device", "device_counts.0: found 1.5, expected a whole number"),
        (EDITION, "    - 1 device\n", "", "device_counts.0: found '2 device', expected 1 as the first point"),
        (EDITION, "    - 8 bit/element", "    - 32 bit/element", "widths.1: found '32 bit/element' after"),
        (EDITION, "    - 2\n", "    - 1\n", "compressions.0: found '1', expected a factor above 1"),
        (EDITION, "study_model: llama-3-70b", "study_model: deepseek-v2", "study_model: found 'deepseek-v2' with the"),
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
        (b'name: "\\Uffffffff"\n', "cannot be read as YAML"),
        (b'"a\\nforged.yaml:1:1: key": 1\n', "found a key with control characters"),
        (b'"\\ud800": 1\n', "found a key with control characters"),
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


EMPTY_LISTS = ["models", "crossover_models", "hardware", "links", "workloads", "methods", "matrix_methods"]
SWEEPS = ["table_contexts", "table_batches", "figure_contexts", "figure_batches", "widths", "compressions",
          "device_counts"]  # fmt: skip


@pytest.mark.parametrize("key", EMPTY_LISTS + SWEEPS)
def test_no_list_of_an_edition_may_be_empty(place, key):
    lines = Path(EDITION).read_text(encoding="utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if line.strip() == f"{key}:")
    end = start + 1
    while end < len(lines) and lines[end].lstrip().startswith(("- ", "#")):
        end += 1
    lines[start:end] = [lines[start] + " []"]
    Path(EDITION).write_text("\n".join(lines), encoding="utf-8")
    assert any(f"{key}: found a list of 0, expected a list of at least 1" in fault for fault in faults())


def test_an_assumption_given_twice_is_told_at_its_second_place(place):
    path = "data/assumptions.yaml"
    edit(path, "id: w3-shared-prefix", "id: prefill-utilisation")
    assert any("assumptions.1.id: found 'prefill-utilisation' twice" in fault for fault in faults())


@pytest.mark.parametrize("name", ["data/hardware", "data", "config", "config/editions"])
def test_a_linked_folder_is_refused(place, name):
    """What a link points to is outside the check, and could hold anything."""
    Path(name).rename("elsewhere")
    Path(name).symlink_to(place / "elsewhere", target_is_directory=True)
    assert any(fault.startswith(f"{name}:1:1: file: found a symbolic link") for fault in faults())


def test_a_file_behind_a_linked_folder_is_not_there(place):
    Path("data/hardware").rename("elsewhere")
    Path("data/hardware").symlink_to(place / "elsewhere", target_is_directory=True)
    assert any("hardware.1: found 'b200', expected the id of a file" in fault for fault in faults())


@pytest.mark.parametrize("name", ["data/x.yaml", "data/hardware/new.yaml", "config/x", "config/editions/x.yaml"])
@pytest.mark.parametrize("target", ["b200.yaml", "/etc/passwd", "nowhere"])
def test_a_linked_file_is_refused(place, name, target):
    Path(name).symlink_to(target)
    assert any(fault.startswith(f"{name}:1:1: file: found a symbolic link") for fault in faults())


@pytest.mark.parametrize("name", ["x.json", "b200.yml", "b200.yaml.orig", ".b200.yaml.swp", "notes", "B.YAML"])
@pytest.mark.parametrize("folder", ["data", "data/hardware", "config/editions"])
def test_nothing_but_specs_stands_among_specs(place, folder, name):
    Path(folder, name).write_text("id: x\n", encoding="utf-8")
    assert any(fault.startswith(f"{folder}/{name}:1:1: file: found no spec file") for fault in faults())


def test_a_readme_may_stand_among_specs(place):
    Path("data/README.md").write_text("what stands here", encoding="utf-8")
    check()


def test_a_fifo_is_told_and_never_opened(place):
    os.mkfifo("data/hardware/pipe.yaml")
    code = "from kvwall.audit.check import check; check()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "data/hardware/pipe.yaml:1:1: file: found no spec file" in done.stderr
    code = "from kvwall.specs import load; load(['data/hardware/pipe.yaml'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert "data/hardware/pipe.yaml:1:1: file: found no regular file" in done.stderr


@pytest.mark.parametrize("name", [STEP, "data/forms/printed.yaml", "data/assumptions.yaml", EDITION])
def test_a_missing_file_that_is_needed_is_told(place, name):
    Path(name).unlink()
    assert any(fault.startswith(f"{name}:1:1: file: missing file") for fault in faults())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (STEP, "data/accounting/other.yaml"),
        ("data/assumptions.yaml", "data/hardware/assumptions.yaml"),
        ("data/forms/printed.yaml", "data/printed.yaml"),
        (B200, "data/old/hardware/b200.yaml"),
        (LLAMA, "config/editions/models/llama-3-70b.yaml"),
    ],
)
def test_a_file_in_a_wrong_place_cannot_replace_another(place, old, new):
    Path(new).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(old, new)
    (fault,) = faults()
    assert fault.startswith(f"{new}:1:1: file: no known kind of spec")


def test_a_file_name_of_any_bytes_is_told_without_a_traceback(place):
    Path(os.fsdecode(b"data/hardware/\xff.yaml")).write_bytes(Path(B200).read_bytes())
    told = faults()
    assert any(r"\udcff.yaml" in fault for fault in told)
    "\n".join(told).encode("utf-8")
    sys.path.insert(0, str(ROOT / "workflow" / "scripts"))
    import check_stamp

    names = [os.fsdecode(path) for path in Path("data/hardware").iterdir()]
    check_stamp.write(Path("stamp"), names)
    assert check_stamp.holds(Path("stamp"), names)


def test_a_fault_is_always_one_line():
    fault = Fault("a\nb.yaml", 1, 2, "key\x1b[31m\r", "found\u2028x\u202e\x00 ä")
    assert str(fault) == r"a\nb.yaml:1:2: key\x1b[31m\r: found\u2028x\u202e\x00 ä"


def test_a_flood_of_faults_is_cut_and_counted():
    error = SpecErrors([Fault("x.yaml", line, 1, "k", "m") for line in range(1, 1002)])
    assert error.count == 1001 and len(error.faults) == 201
    assert str(error.faults[-1]).startswith("x.yaml:201:1: k: and 801 more faults")
    assert len(SpecErrors([Fault("x.yaml", line, 1, "k", "m") for line in range(200)]).faults) == 200


@pytest.mark.parametrize("text", ["8,0", "0,125", "1,2345", "1,23,456", "1,000_000", ",5", "1,"])
def test_printed_numbers_know_no_decimal_comma(text):
    with pytest.raises(ValueError, match="expected a plain number"):
        number(text)


def test_a_value_too_large_for_a_float_is_a_fault(place):
    edit(B200, "value: 8.0 TB/s", "value: 1e40 TB^9*TB^9*TB^9/B^9/B^9/B^8/s")
    assert any("hbm_bandwidth" in fault and "a number beyond 1e308" in fault for fault in faults())
