#!/usr/bin/env python3
"""Writes tests/nn/data/chat_templates/golden.json: what jinja2, set up as Hugging Face transformers does, renders.

    python3 chat_template.py            # needs jinja2, as in Debian's python3-jinja2
    python3 chat_template.py --check    # compares instead of writing

Every *.jinja of that folder, and the template of models/tiny, with every conversation, with and without a generation
prompt. Where a template refuses, its words are kept.
"""
import json
import pathlib
import sys

import jinja_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests/nn/data/chat_templates"
CONVERSATIONS = [
    [("user", "Hello")],
    [("system", "  Be brief, say the weather. \n"), ("user", "Why is the sky blue?\n\nTell me.")],
    [("user", "One"), ("assistant", "<think>\nsmall\n</think>\n\nTwo"), ("user", "Three\n"), ("assistant", " Four ")],
    [("system", "Sei kurz: äöü ß Σ"), ("user", "日本語 \"quoted\" 'single' <b>&amp;</b> \\n {{ x }}"),
     ("assistant", "<think>deep\n</think>The answer 😀"), ("user", "<result>42</result>")],
    [("user", "a"), ("user", "b")],
    [("assistant", "I begin"), ("user", "")],
    [("user", "call"), ("tool", "result 1"), ("tool", "result 2"), ("assistant", "<think>x</think>done")],
    [("developer", "Know the Weather"), ("user", "x <|channel|> y"), ("assistant", "no <|channel|> here"), ("user", "z")],
    [],
]


def result(env, text, conversation, prompt):
    messages = [{"role": role, "content": content} for role, content in conversation]
    try:
        return {"text": jinja_environment.render(env, text, messages, prompt, "<s>", "</s>")}
    except jinja_environment.jinja2.exceptions.TemplateError as error:
        return {"error": str(error)}


def main():
    env = jinja_environment.environment()
    templates = {path.name: path.read_text() for path in sorted(FOLDER.glob("*.jinja"))}
    templates["models/tiny"] = json.loads((ROOT / "models/tiny/tokenizer_config.json").read_text())["chat_template"]
    golden = {"conversations": CONVERSATIONS, "templates": {
        name: [result(env, text, conversation, prompt) for conversation in CONVERSATIONS for prompt in (False, True)]
        for name, text in templates.items()}}
    text = json.dumps(golden, indent=1, ensure_ascii=False) + "\n"
    path = FOLDER / "golden.json"
    if "--check" in sys.argv[1:]:
        sys.exit(0 if path.read_text() == text else f"{path.name} is not what jinja2 renders")
    path.write_text(text)


if __name__ == "__main__":
    main()
