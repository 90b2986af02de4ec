# Every closed form is derived once, here; notebooks read the result. The font cache is made once as well:
# kernels that start together would each make their own.


rule derive:
    input:
        accounting=ACCOUNTING,
        printed=PRINTED,
        package=sources("specs", "algebra") + ["src/kvwall/audit/derive.py", *CLI],
        checkout=CHECKOUT,
    output:
        FORMS,
    message:
        "deriving the closed forms"
    shell:
        "{PYTHON:q} -m kvwall derive --accounting {input.accounting:q} --printed {input.printed:q} --out {output:q}"


rule fonts:
    output:
        FONTS,
    message:
        "listing the fonts"
    shell:
        "MPLCONFIGDIR=build/matplotlib MPLBACKEND=Agg {PYTHON:q} -c 'import matplotlib.font_manager' "
        "&& touch {output:q}"
