# Each notebook writes its own fragment of the ledger; one rule merges them, a copy publishes the result.

LEDGER_NAMES = ["ledger.csv", "ledger.json", "outputs.sha256"]
LEDGER = [f"ledger/{name}" for name in LEDGER_NAMES]
MERGED = [f"build/merged/{name}" for name in LEDGER_NAMES]
# The text outputs are committed; pictures in other formats are built only.
COMMITTED = [name for name in TABLE_FILES + FIGURE_FILES + CLAIM_FILES if not name.endswith((".png", ".pdf"))]


rule merge_ledger:
    input:
        fragments=FRAGMENTS + [CLAIM_FRAGMENT],
        outputs=COMMITTED,
        package=sources("evidence") + CLI,
    output:
        MERGED,
    params:
        outputs=[f"--outputs={name}" for name in COMMITTED],
    message:
        "merging the ledger"
    shell:
        "{PYTHON:q} -m kvwall ledger {input.fragments:q} --out-dir build/merged {params.outputs:q}"


rule ledger:
    input:
        merged=MERGED,
        # Published files lead to the specs, also where a failed run has left no fragment.
        outputs=COMMITTED,
    output:
        LEDGER,
    shell:
        "cp {input.merged:q} ledger/"
