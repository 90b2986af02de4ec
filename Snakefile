"""From raw specs to every table, every figure and the ledger. The stages, in the order a number takes them:"""


include: "workflow/rules/common.smk"  # what an artifact reads, one build at a time, how a notebook is called
include: "workflow/rules/specs.smk"  # data/, config/     → every fault stops the build here, before any notebook
include: "workflow/rules/forms.smk"  # accounting         → build/forms.json: the closed forms, derived once
include: "workflow/rules/artifacts.smk"  # forms and specs    → tables/, figures/
include: "workflow/rules/documents.smk"  # forms              → derivations as a document
include: "workflow/rules/claims.smk"  # ledger, data/claims → tables/claims: every printed number with a verdict
include: "workflow/rules/ledger.smk"  # ledger fragments   → ledger/


rule all:
    default_target: True
    input:
        FORMS,
        TABLE_FILES,
        FIGURE_FILES,
        CLAIM_FILES,
        EXECUTED,
        "notebooks/executed/claims.ipynb",
        FRAGMENTS,
        LEDGER,
    localrule: True


onsuccess:
    say("tables: tables/   figures: figures/   ledger: ledger/ledger.csv   notebooks: notebooks/executed/")


onerror:
    say(
        "The build stopped. Nothing that was built before is lost; tables and figures may be newer than the ledger, until "
        "what is named above is put right and the build is run again."
    )
