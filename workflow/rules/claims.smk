# Claims: what the texts print, judged against the ledger of all other artifacts. Hence a ledger before the ledger.

CLAIM_NAMES = [f"{name}.{ending}" for name in ("claims", "claims_summary") for ending in TABLE_ENDINGS]
CLAIM_FILES = [f"tables/{name}" for name in CLAIM_NAMES]
CLAIM_BUILT = [f"build/artifacts/claims/{name}" for name in CLAIM_NAMES]
CLAIM_FRAGMENT = "build/ledger/claims.json"
CLAIM_KINDS = ("models", "hardware", "links", "claims")
CLAIM_SPECS = [path for path in RAW if Path(path).parts[1] in CLAIM_KINDS] + [ASSUMPTIONS]
CLAIM_ROWS = "build/before_claims/ledger.json"
CLAIM_EXECUTED = "build/executed/claims.ipynb"


rule merge_before_claims:
    input:
        fragments=FRAGMENTS,
        package=sources("evidence") + CLI,
    output:
        CLAIM_ROWS,
    message:
        "merging the ledger that claims are judged by"
    shell:
        "{PYTHON:q} -m kvwall ledger {input.fragments:q} --out-dir build/before_claims"


rule run_claims:
    input:
        notebook="notebooks/claims.ipynb",
        rows=CLAIM_ROWS,
        specs=CLAIM_SPECS,
        edition=EDITION,
        forms=FORMS,
        package=PACKAGE + sources("audit"),
        workflow=WORKFLOW,
        fonts=FONTS,
        checkout=CHECKOUT,
    output:
        CLAIM_BUILT,
        CLAIM_FRAGMENT,
        CLAIM_EXECUTED,
    params:
        call=run_notebook(
            "notebooks/claims.ipynb",
            CLAIM_EXECUTED,
            {
                "edition": EDITION,
                "forms": FORMS,
                "specs": CLAIM_SPECS,
                "rows": CLAIM_ROWS,
                "out_dir": "build/artifacts/claims",
                "ledger": CLAIM_FRAGMENT,
            },
        ),
    shell:
        "{PYTHON:q} {params.call}"


rule claims:
    input:
        built=CLAIM_BUILT,
        executed=CLAIM_EXECUTED,
        # What the notebook read stands here too: a failed run leaves no file that could be out of date.
        specs=CLAIM_SPECS,
        rows=CLAIM_ROWS,
        notebook="notebooks/claims.ipynb",
        checkout=CHECKOUT,
    output:
        [name for name in CLAIM_FILES if not name.endswith("claims_summary.md")],
        report("tables/claims_summary.md", category="Claims", labels={"table": "summary"}),
        executed="notebooks/executed/claims.ipynb",
    shell:
        "cp {input.built:q} tables/ && cp {input.executed:q} {output.executed:q}"
