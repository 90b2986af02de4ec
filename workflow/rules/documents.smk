# Notebooks that emit nothing but themselves: the derivations as a reader follows them.

for artifact in of_kind("documents"):
    executed = f"build/executed/{artifact.notebook}.ipynb"

    rule:
        name:
            f"run_{artifact.name}"
        input:
            **inputs(artifact),
        output:
            executed,
        params:
            call=call(artifact, executed),
        shell:
            "{PYTHON:q} {params.call}"

    rule:
        name:
            artifact.name
        input:
            **inputs(artifact),
            executed=executed,
        output:
            artifact.executed,
        shell:
            "cp {input.executed:q} {output:q}"
