#!/usr/bin/env python3
"""OpenAI's own client, as it comes, against an endpoint: a line for each thing that works.

openai_client.py URL SLOW_URL TOKEN_FILE    SLOW_URL: one that asks for the file's token, takes seconds for an answer of
900 tokens, and has room for one request and one that waits
"""
import asyncio
import sys
import threading
import time
import urllib.request

import openai

URL, SLOW_URL, TOKEN_FILE = sys.argv[1:]
PROMPT = "int main(int argc,"
MODEL = "tiny"
client = openai.OpenAI(base_url=URL + "/v1", api_key="none", max_retries=0, timeout=60)
TOKEN = open(TOKEN_FILE).readline().strip()
slow = openai.OpenAI(base_url=SLOW_URL + "/v1", api_key=TOKEN, max_retries=0, timeout=60)
LONG = {"max_tokens": 900, "extra_body": {"ignore_eos": True}}


def complete(at=client, **more):
    return at.completions.create(**{"model": MODEL, "prompt": PROMPT, "max_tokens": 16, "temperature": 0, **more})


def text(**more):
    return complete(**more).choices[0].text


def metric(name):
    """Of the slow one: a sample without labels."""
    request = urllib.request.Request(SLOW_URL + "/metrics", headers={"authorization": "Bearer " + TOKEN})
    with urllib.request.urlopen(request) as answer:
        lines = answer.read().decode().splitlines()
    return float(next(line.split()[1] for line in lines if line.split(" ")[0] == name))


def until(condition, what, limit_s=10.0):
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def refused(kind, act):
    try:
        act()
    except kind as error:
        assert type(error) is kind, f"{type(error).__name__}, not {kind.__name__}"
        return error
    raise AssertionError(f"no {kind.__name__}")


def models():
    (model,) = client.models.list().data
    assert (model.id, model.object) == (MODEL, "model"), model


def completion():
    answer = complete()
    (choice,) = answer.choices
    assert choice.text and choice.finish_reason == "length", choice
    assert answer.object == "text_completion" and answer.model == MODEL and answer.id.startswith("cmpl-"), answer
    usage = answer.usage
    assert usage.completion_tokens == 16 and usage.total_tokens == usage.prompt_tokens + 16, usage
    assert answer._request_id


def token_list():
    tokens = client.post("/../tokenize", body={"prompt": PROMPT}, cast_to=object)["tokens"]
    assert complete(prompt=tokens).usage.prompt_tokens == len(tokens)
    assert text(prompt=tokens) == text()


def stop():
    whole = text(max_tokens=40)
    mark = whole[len(whole) // 2 :][:3]
    choice = complete(max_tokens=40, stop=[mark, "\0"]).choices[0]
    assert choice.finish_reason == "stop" and choice.text == whole[: whole.index(mark)], choice


def seed():
    drawn = [text(temperature=1.0, seed=number) for number in (3, 3, 4)]
    assert drawn[0] == drawn[1] != drawn[2], drawn


def ignore_eos():
    answer = complete(max_tokens=300, extra_body={"ignore_eos": True})
    assert answer.usage.completion_tokens == 300 and answer.choices[0].finish_reason == "length", answer.usage


MESSAGES = [{"role": "system", "content": "You write C."}, {"role": "user", "content": "Hello"}]


def chat(**more):
    return client.chat.completions.create(
        **{"model": MODEL, "messages": MESSAGES, "max_completion_tokens": 12, "temperature": 0, **more}
    )


def chat_whole_and_streamed():
    whole = chat()
    message = whole.choices[0].message
    assert message.role == "assistant" and message.content, whole
    chunks = list(chat(stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == message.content
    assert [choice.finish_reason for choice in chunks[-2].choices] == [whole.choices[0].finish_reason]
    assert chunks[-1].choices == [] and chunks[-1].usage == whole.usage, chunks[-1]


def streamed():
    chunks = list(complete(stream=True))
    assert len(chunks) > 8, "tokens come one by one"
    assert "".join(chunk.choices[0].text for chunk in chunks) == text()


def closed_stream():
    cancelled = metric("afore_requests_cancelled_total")
    with complete(slow, stream=True, **LONG) as stream:
        for _, _ in zip(range(3), stream):
            pass
        assert metric("afore_requests_running") == 1
    until(lambda: metric("afore_requests_running") == 0, "the request of a closed stream runs on")
    assert metric("afore_requests_cancelled_total") == cancelled + 1


def timeout():
    cancelled = metric("afore_requests_cancelled_total")
    refused(openai.APITimeoutError, lambda: complete(slow, timeout=0.2, **LONG))
    until(lambda: metric("afore_requests_cancelled_total") == cancelled + 1, "the request outlives its client")


def token_of_the_file():
    assert slow.models.list().data[0].id == MODEL
    for key in ("wrong", slow.api_key[:-1]):
        error = refused(openai.AuthenticationError, slow.with_options(api_key=key).models.list)
        assert error.status_code == 401 and error.code == "invalid_api_key", error.body


def errors():
    error = refused(openai.NotFoundError, lambda: complete(model="gpt-4"))
    assert error.code == "model_not_found" and error.param == "model", error.body
    refused(openai.NotFoundError, lambda: client.embeddings.create(model=MODEL, input="x"))
    error = refused(openai.BadRequestError, lambda: complete(temperature=-1))
    assert error.param == "temperature" and error.type == "invalid_request_error", error.body
    error = refused(openai.BadRequestError, lambda: complete(max_tokens=10**6))
    assert error.code == "context_length_exceeded", error.body
    refused(openai.BadRequestError, lambda: complete(n=2))


def full_queue():
    """While one runs, of two that come at once one waits, and one is refused."""
    running, stop_all = threading.Event(), threading.Event()
    ends = []

    def long_one():
        try:
            stream = complete(slow, stream=True, **LONG)
            for _ in stream:
                running.set()
                if stop_all.is_set():
                    return stream.close()
        except openai.RateLimitError as error:
            ends.append(error)
            stop_all.set()

    threads = [threading.Thread(target=long_one) for _ in range(3)]
    threads[0].start()
    assert running.wait(60)
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 1 and ends[0].status_code == 429, ends
    assert int(ends[0].response.headers["retry-after"]) >= 1
    # What was cancelled makes room; until then the client's own retries wait.
    assert complete(slow.with_options(max_retries=4), max_tokens=2).usage.completion_tokens == 2


def fifty_streams():
    prompts = [f"{('for (', 'return ', 'struct ', 'The ', '/* ')[number % 5]}{number}" for number in range(50)]

    async def one(asynchronous, prompt):
        stream = await asynchronous.completions.create(
            model=MODEL, prompt=prompt, max_tokens=8, temperature=0, stream=True
        )
        return "".join([chunk.choices[0].text async for chunk in stream])

    async def all_at_once():
        async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="none", max_retries=0, timeout=60) as asynchronous:
            return await asyncio.gather(*(one(asynchronous, prompt) for prompt in prompts))

    texts = asyncio.run(all_at_once())
    assert len(texts) == 50 and len(set(texts)) > 1
    for number in (0, 17, 49):  # whoever runs beside it, a text is the same
        assert texts[number] == text(prompt=prompts[number], max_tokens=8), number


for check in (
    models,
    completion,
    token_list,
    stop,
    seed,
    ignore_eos,
    chat_whole_and_streamed,
    streamed,
    closed_stream,
    timeout,
    token_of_the_file,
    errors,
    full_queue,
    fifty_streams,
):
    begin = time.monotonic()
    try:
        check()
    except BaseException:
        print(f"FAILED: {check.__name__}", flush=True)
        raise
    print(f"{check.__name__} ok", flush=True)
    print(f"{check.__name__}: {time.monotonic() - begin:.2f} s", file=sys.stderr)
