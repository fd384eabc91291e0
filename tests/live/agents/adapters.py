"""The agents that are tried: how each is told where its model is, in files of its home and in its environment. None is
given a real key."""

import json
import os
from dataclasses import dataclass, field

KEY = "sk-mock-0123456789abcdef"


@dataclass
class Adapter:
    name: str
    # The package whose version is shown.
    package: str
    preset: str
    env: dict
    files: dict = field(default_factory=dict)
    command: list = field(default_factory=list)
    # It keeps sessions in files that are named by the minute, and a load within that minute empties the file.
    loads_in_the_next_minute: bool = False

    def version(self, place):
        with open(os.path.join(place, "node_modules", self.package, "package.json")) as file:
            return json.load(file)["version"]

    def section(self):
        """Its part of the daemon's configuration; JSON's strings and lists are TOML's too."""
        lines = [f"[agents.{self.name}]", f'preset = "{self.preset}"']
        if self.command:
            lines.append(f"command = {json.dumps(self.command)}")
        lines += [f"[agents.{self.name}.env]"] + [f"{key} = {json.dumps(value)}" for key, value in self.env.items()]
        return "\n".join(lines) + "\n"


def codex_config(url):
    return (f'model = "mock"\nmodel_provider = "mock"\n[model_providers.mock]\nname = "mock"\n'
            f'base_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
            '[analytics]\nenabled = false\n')


def adapters(url):
    codex = {".codex/config.toml": codex_config(url)}
    model = {"name": "mock", "tool_call": True, "limit": {"context": 100000, "output": 4000}}
    opencode = {
        "model": "mock/mock", "small_model": "mock/mock", "autoupdate": False, "share": "disabled",
        "enabled_providers": ["mock"], "permission": {"bash": "ask"},
        "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"mock": model},
                              "options": {"baseURL": f"{url}/v1", "apiKey": KEY}}},
    }
    return [
        Adapter("claude", "@agentclientprotocol/claude-agent-acp", "claude",
                {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}),
        Adapter("codex", "@zed-industries/codex-acp", "codex", {"OPENAI_API_KEY": KEY}, codex),
        Adapter("codex-org", "@agentclientprotocol/codex-acp", "codex", {"OPENAI_API_KEY": KEY}, codex),
        Adapter("gemini", "@google/gemini-cli", "gemini",
                {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_MODEL": "gemini-2.5-flash"},
                {".gemini/settings.json": json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}})},
                loads_in_the_next_minute=True),
        Adapter("qwen", "@qwen-code/qwen-code", "qwen",
                {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": "mock"},
                {".qwen/settings.json": json.dumps({"security": {"auth": {"selectedType": "openai"}}})}),
        Adapter("opencode", "opencode-ai", "opencode", {},
                {".config/opencode/opencode.json": json.dumps(opencode)}),
        Adapter("goose", "@aaif/goose-binary-linux-x64", "goose",
                {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "mock", "GOOSE_MODE": "approve", "OPENAI_API_KEY": KEY,
                 "OPENAI_HOST": url, "GOOSE_DISABLE_KEYRING": "1"},
                command=["goose-binary-linux-x64", "acp"]),
    ]
