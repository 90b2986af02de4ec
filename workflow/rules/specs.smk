# data/ and config/ are checked as a whole, before anything reads a value from them.


rule check:
    input:
        raw=RAW,
        package=sources("specs") + CLI,
    output:
        CHECK,
    message:
        "checking data/ and config/"
    shell:
        "{PYTHON:q} -m kvwall check --edition {EDITION:q} --stamp {output:q}"
