"""The wires of model providers, seen from the provider's side: what a request says, and an answer as events. Each wire
reads a request as pairs of who spoke (`user`, `assistant`, `result`) and the text."""

import itertools
import json
import re

SERIAL = itertools.count(1)


def find(path):
    return next((wire for wire in WIRES if re.search(wire.path, path)), None)


def looked_up(path):
    """The answer to a GET: agents ask which models there are."""
    if path.split("?")[0].endswith("/models"):
        return 200, {"object": "list", "data": [{"id": "mock", "object": "model", "created": 0, "owned_by": "mock"}]}
    return 404, {"error": {"message": "nothing is here"}}


def posted(path):
    """The answer to what is no prompt."""
    if "count_tokens" in path:
        return 200, {"input_tokens": 10}
    if "countTokens" in path:
        return 200, {"totalTokens": 10}
    return 404, {"error": {"message": "nothing is here"}}


def texts(content, *keys):
    """The texts of content that is a string, or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return " ".join(str(block.get(key, "")) for block in blocks for key in keys if block.get(key))


class Messages:
    """Anthropic's."""

    path = r"/v1/messages(\?|$)"

    def said(self, request):
        for message in request["messages"]:
            content = message["content"]
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_result":
                    yield "result", texts(block.get("content"), "text")
            yield message["role"], texts(content, "text")

    def tools(self, request):
        return {tool.get("name") for tool in request.get("tools", [])}

    def streams(self, _path, request):
        return request.get("stream", False)

    def message(self, request, content, reason):
        usage = {"input_tokens": 10, "output_tokens": 9}
        return {"id": f"msg_{next(SERIAL)}", "type": "message", "role": "assistant", "model": request["model"],
                "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}

    def whole(self, request, text):
        return self.message(request, [{"type": "text", "text": text}], "end_turn")

    def events(self, request, answer):
        for name, data in self.bare(request, answer):
            yield name, {"type": name, **data}

    def bare(self, request, answer):
        yield "message_start", {"message": self.message(request, [], None)}
        if isinstance(answer, tuple):
            name, given = answer
            block = {"type": "tool_use", "id": f"toolu_{next(SERIAL)}", "name": name, "input": {}}
            yield "content_block_start", {"index": 0, "content_block": block}
            written = json.dumps(given)
            for part in (written[:9], written[9:]):
                yield "content_block_delta", {"index": 0, "delta": {"type": "input_json_delta", "partial_json": part}}
            reason = "tool_use"
        else:
            yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
            for piece in answer:
                yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": piece}}
            reason = "end_turn"
        yield "content_block_stop", {"index": 0}
        yield "message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 9}}
        yield "message_stop", {}


class Responses:
    """OpenAI's newer one."""

    path = r"/v1/responses(\?|$)"

    def said(self, request):
        given = request["input"]
        for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
            if str(item.get("type")).endswith("_call_output"):
                output = item.get("output")
                yield "result", output if isinstance(output, str) else json.dumps(output)
            elif item.get("type", "message") == "message":
                yield item["role"], texts(item["content"], "text")

    def tools(self, request):
        return {tool.get("name", tool["type"]) for tool in request.get("tools") or []}

    def streams(self, _path, request):
        return request.get("stream", False)

    def response(self, request, output, status="completed"):
        usage = {"input_tokens": 10, "output_tokens": 9, "total_tokens": 19,
                 "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {"id": f"resp_{next(SERIAL)}", "object": "response", "created_at": 0, "status": status,
                "model": request["model"], "output": output, "usage": usage if status == "completed" else None}

    def text_item(self, text, **more):
        content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
        return {"type": "message", "role": "assistant", "status": "completed", "content": content, **more}

    def whole(self, request, text):
        return self.response(request, [self.text_item(text, id="msg_1")])

    def events(self, request, answer):
        for number, (name, data) in enumerate(self.bare(request, answer)):
            yield name, {"type": name, "sequence_number": number, **data}

    def bare(self, request, answer):
        yield "response.created", {"response": self.response(request, [], "in_progress")}
        serial = next(SERIAL)
        if isinstance(answer, tuple):
            name, given = answer
            item = {"type": "function_call", "id": f"fc_{serial}", "call_id": f"call_{serial}", "name": name,
                    "arguments": json.dumps(given), "status": "completed"}
            yield "response.output_item.added", {"output_index": 0, "item": {**item, "arguments": ""}}
        else:
            place = {"output_index": 0, "content_index": 0, "item_id": f"msg_{serial}"}
            item = self.text_item("", id=f"msg_{serial}")
            yield "response.output_item.added", {"output_index": 0, "item": item}
            text = ""
            for piece in answer:
                text += piece
                yield "response.output_text.delta", {**place, "delta": piece}
            yield "response.output_text.done", {**place, "text": text}
            item = self.text_item(text, id=f"msg_{serial}")
        yield "response.output_item.done", {"output_index": 0, "item": item}
        yield "response.completed", {"response": self.response(request, [item])}


class Chat:
    """OpenAI's older one, which most others speak."""

    path = r"/chat/completions(\?|$)"

    def said(self, request):
        for message in request["messages"]:
            role = "result" if message["role"] == "tool" else message["role"]
            yield role, texts(message.get("content"), "text")

    def tools(self, request):
        return {tool["function"]["name"] for tool in request.get("tools", [])}

    def streams(self, _path, request):
        return request.get("stream", False)

    def chunk(self, request, kind, **more):
        return {"id": "chatcmpl-1", "object": kind, "created": 0, "model": request["model"], **more}

    def whole(self, request, text):
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}
        return self.chunk(request, "chat.completion", choices=[choice], usage=usage)

    def events(self, request, answer):
        def piece(delta, reason=None):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            return None, self.chunk(request, "chat.completion.chunk", choices=[choice])

        yield piece({"role": "assistant", "content": None if isinstance(answer, tuple) else ""})
        if isinstance(answer, tuple):
            name, given = answer
            call = {"index": 0, "id": f"call_{next(SERIAL)}", "type": "function"}
            yield piece({"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]})
            yield piece({"tool_calls": [{"index": 0, "function": {"arguments": json.dumps(given)}}]})
            yield piece({}, "tool_calls")
        else:
            for text in answer:
                yield piece({"content": text})
            yield piece({}, "stop")
        usage = {"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19}
        yield None, self.chunk(request, "chat.completion.chunk", choices=[], usage=usage)
        yield None, "[DONE]"


class Gemini:
    """Google's."""

    path = r":(streamG|g)enerateContent"

    def said(self, request):
        for content in request["contents"]:
            for part in content["parts"]:
                if "functionResponse" in part:
                    yield "result", json.dumps(part["functionResponse"].get("response"))
            yield "assistant" if content.get("role") == "model" else "user", texts(content["parts"], "text")

    def tools(self, request):
        declared = [tool.get("functionDeclarations", []) for tool in request.get("tools", [])]
        return {function["name"] for functions in declared for function in functions}

    def streams(self, path, _request):
        return "streamGenerateContent" in path

    def chunk(self, parts, reason=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        if reason:
            candidate["finishReason"] = reason
        usage = {"promptTokenCount": 10, "candidatesTokenCount": 9, "totalTokenCount": 19}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "mock"}

    def whole(self, _request, text):
        return self.chunk([{"text": text}], "STOP")

    def events(self, _request, answer):
        if isinstance(answer, tuple):
            name, given = answer
            call = {"id": f"call_{next(SERIAL)}", "name": name, "args": given}
            yield None, self.chunk([{"functionCall": call}], "STOP")
        else:
            for piece in answer:
                yield None, self.chunk([{"text": piece}])
            yield None, self.chunk([{"text": ""}], "STOP")


WIRES = [Messages(), Responses(), Chat(), Gemini()]
