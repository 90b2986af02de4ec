# Figures: a notebook makes its files below build/, a short copy publishes them. Snakemake deletes the outputs
# of a job before it starts and after it fails; so only the copy, which follows a success, ever touches figures/.

FIGURE_ENDINGS = ["svg", "pdf", "png", "csv"]
FIGURE_FILES = [
    name for artifact in of_kind("figures") for name in files(artifact, "figures", FIGURE_ENDINGS)
]


for artifact in of_kind("figures"):
    built = files(artifact, f"build/artifacts/{artifact.name}", FIGURE_ENDINGS)
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
            files(artifact, "figures", ["pdf", "png", "csv"]),
            report(f"figures/{artifact.name}.svg", category="Figures", labels={"figure": artifact.notebook}),
            executed=artifact.executed,
        shell:
            "cp {input.built:q} figures/ && cp {input.executed:q} {output.executed:q}"
