# Tables and figures: a notebook makes its files below build/, a short copy publishes them. Snakemake deletes the
# outputs of a job before it starts and after it fails; so only the copy, which follows a success, ever touches
# tables/ and figures/.

# Per kind: the file that stands for the artifact in a report, and what it is called there, then the other files.
PUBLISHED = {
    "tables": ("md", "table", ["csv", "tex"]),
    "figures": ("svg", "figure", ["pdf", "png", "csv"]),
}


def endings(kind):
    shown, _, others = PUBLISHED[kind]
    return [shown, *others]


def files_of(kind):
    return [name for artifact in of_kind(kind) for name in files(artifact, kind, endings(kind))]


TABLE_ENDINGS = endings("tables")
TABLE_FILES = files_of("tables")
FIGURE_FILES = files_of("figures")


for artifact in [*of_kind("tables"), *of_kind("figures")]:
    kind = artifact.kind
    shown, label, others = PUBLISHED[kind]
    built = files(artifact, f"build/artifacts/{artifact.name}", endings(kind))
    executed = f"build/executed/{artifact.notebook}.ipynb"

    rule:
        name:
            f"run_{artifact.name}"
        input:
            **inputs(artifact),
        output:
            built,
            artifact.fragment,
            executed,
        params:
            call=call(artifact, executed),
        shell:
            "{PYTHON:q} {params.call}"

    rule:
        name:
            artifact.name
        input:
            # What the notebook read stands here too: a failed run leaves no file that could be out of date.
            **inputs(artifact),
            built=built,
            executed=executed,
        output:
            files(artifact, kind, others),
            report(
                f"{kind}/{artifact.name}.{shown}",
                category=kind.capitalize(),
                labels={label: artifact.notebook},
            ),
            executed=artifact.executed,
        params:
            folder=kind,
        shell:
            "cp {input.built:q} {params.folder:q}/ && cp {input.executed:q} {output.executed:q}"
