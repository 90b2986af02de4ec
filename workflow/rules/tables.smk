# Tables: a notebook makes its files below build/, a short copy publishes them. Snakemake deletes the outputs
# of a job before it starts and after it fails; so only the copy, which follows a success, ever touches tables/.

TABLE_ENDINGS = ["csv", "md", "tex"]
TABLE_FILES = [name for artifact in of_kind("tables") for name in files(artifact, "tables", TABLE_ENDINGS)]


for artifact in of_kind("tables"):
    built = files(artifact, f"build/artifacts/{artifact.name}", TABLE_ENDINGS)
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
            files(artifact, "tables", ["csv", "tex"]),
            report(f"tables/{artifact.name}.md", category="Tables", labels={"table": artifact.notebook}),
            executed=artifact.executed,
        shell:
            "cp {input.built:q} tables/ && cp {input.executed:q} {output.executed:q}"
