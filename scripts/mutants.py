"""What the scripts share that break sources on purpose: a mutant is compiled beside a build and linked with its objects."""
import json, os, pathlib, re, resource, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MEMORY_BYTES = 16 << 30  # of address space: a mutant that asks for ever more ends as a failed test


def refuse(message):
    print(f"{pathlib.Path(sys.argv[0]).name}: error: {message}", file=sys.stderr)
    sys.exit(2)


def blank_comments(text):
    """The text with comments blanked, so that places stay the same."""
    return re.sub(r"//[^\n]*", lambda comment: " " * len(comment.group()), text)


class Build:
    """A build folder that is up to date."""

    def __init__(self, folder):
        self.folder = folder
        self.commands = {pathlib.Path(c["file"]): c for c in json.loads((folder / "compile_commands.json").read_text())}
        self.links = {}

    def link_line(self, program):
        if program not in self.links:
            lines = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", f"bin/{program}"], check=True, text=True,
                                   capture_output=True).stdout.splitlines()
            self.links[program] = next(line for line in reversed(lines) if f"-o bin/{program}" in line)
        return self.links[program]

    def compile(self, file, source, made, include):
        """Compiles source as file is, with the replaced (folder, folder) of its includes; says what the compiler says."""
        command = self.commands[file]
        line = command["command"].replace(f"-I{include[0]} ", f"{include[1]} ").replace(command["file"], str(source))
        line = re.sub(r" -o \S+", f" -o {made}", line)
        return run(line, command["directory"])

    def link(self, program, line, made):
        return run(line.replace(f"-o bin/{program}", f"-o {made}"), self.folder)


def run(line, folder):
    """None, or what a command that failed says."""
    done = subprocess.run(line, shell=True, cwd=folder, text=True, errors="replace", capture_output=True)
    return None if done.returncode == 0 else done.stderr


def bound_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def first_failure(program, tests, patience_s, folder=None, prepare=None):
    """The first test of a GoogleTest program that fails: its name, "time", "crash", or None."""
    try:
        done = subprocess.run([program, f"--gtest_filter={tests}", "--gtest_fail_fast"], timeout=patience_s, text=True,
                              errors="replace", capture_output=True, cwd=folder, preexec_fn=prepare)
    except subprocess.TimeoutExpired:
        return "time"
    if done.returncode == 0:
        return None
    failed = re.search(r"^\[  FAILED  \] ([\w./]+)", done.stdout, re.MULTILINE)
    return failed.group(1) if failed else "crash"
