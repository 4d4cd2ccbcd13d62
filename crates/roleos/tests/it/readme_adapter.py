"""The official clients ask the role of README's example. Usage: readme_adapter.py URL. Status 0 when everything held."""

import sys

import anthropic
import openai

URL = sys.argv[1]
TICKET = [{"role": "user", "content": "My card was charged twice"}]
MODEL = "role:ticket-router"
# Five words in; `team` and `billing` out, as the adapter counts.
RIGHT = ("ticket-router-tiny", '{"team":"billing"}', 5, 2)


def check(what, got):
    if got != RIGHT:
        sys.exit(f"{what}:\n got      {got!r}\n expected {RIGHT!r}")


client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
said = client.chat.completions.create(model=MODEL, messages=TICKET)
check("chat", (said.model, said.choices[0].message.content, said.usage.prompt_tokens, said.usage.completion_tokens))
said = client.responses.create(model=MODEL, input=TICKET)
check("responses", (said.model, said.output_text, said.usage.input_tokens, said.usage.output_tokens))
client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
said = client.messages.create(model=MODEL, max_tokens=50, messages=TICKET)
check("messages", (said.model, said.content[0].text, said.usage.input_tokens, said.usage.output_tokens))
