# data/ and config/ are checked as a whole before anything is planned: one fault, and no notebook runs.
#
# This is no rule, because an order-only input (`ancient`) hides real changes: as soon as the check itself has to run,
# Snakemake 9 does not look at the other inputs of the jobs behind it. An ordinary input would build everything anew
# whenever one value changes.

if workflow.is_main_process and not workflow.dryrun:
    CHECKED = [*RAW, *sources("specs", "audit"), *CLI]
    if ODD or not check_stamp.holds(Path(CHECK_STAMP), CHECKED):
        say("checking data/ and config/ …")
        try:
            shell("{PYTHON:q} -m kvwall check --stamp {CHECK:q}")
        except subprocess.CalledProcessError:
            raise WorkflowError(
                "Faults in data/ or config/, listed above: nothing was run, nothing was changed."
            )
        check_stamp.write(Path(CHECK_STAMP), CHECKED)

try:
    ARTIFACTS = artifact_table.load(Path("workflow/artifacts.yaml"), Path(EDITION))
except artifact_table.EditionError as fault:
    raise WorkflowError(str(fault))

EXECUTED = [artifact.executed for artifact in ARTIFACTS]
FRAGMENTS = [artifact.fragment for artifact in ARTIFACTS if artifact.kind != "documents"]
