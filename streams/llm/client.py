"""Sends one request to an OpenAI-compatible server and returns an answer or a classified failure.

The client library neither retries nor follows redirects here. A response is bounded before it is parsed. The client
remembers parameters that a model refuses, leaves them out from then on, and returns ``FailureKind.ADAPT`` once for
each.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from datetime import datetime
from typing import Any

import httpx2
import openai
import structlog

from schemas.llm import CallOutcome
from schemas.needs import AskModel, Message
from streams.llm.journal import definition_of
from streams.llm.replies import MAX_DETAIL, Answer, Failure, FailureKind, read_completion
from streams.llm.settings import LlmSettings, ModelLimits
from streams.runtime.backoff import retry_after
from streams.runtime.server_address import without_secret
from streams.telemetry.tracing import Tracer, Value

log = structlog.get_logger(__name__)

OPENAI = "https://api.openai.com/v1"
_PATH = "/chat/completions"
_REFUSABLE = ("response_format", "temperature", "max_tokens")
_ADVICE = {
    401: "is ASSAY_LLM__API_KEY right?",
    402: "is the account in credit?",
    403: "may ASSAY_LLM__API_KEY ask this model?",
    404: "are ASSAY_LLM__MODEL and ASSAY_LLM__BASE_URL right?",
}
"""What the operator should check, by status."""
_FINISHED = {CallOutcome.OK: ("stop",), CallOutcome.TRUNCATED: ("length",), CallOutcome.REFUSED: ("content_filter",)}
"""The finish reasons of outcomes that have one."""


class ResponseTooLargeError(Exception):
    """A response is longer than ``llm.max_reply_bytes``."""


class GatewaySettingsError(Exception):
    """No model can be asked with these settings or in this environment; waiting does not help."""


class ModelClient:
    """Sends single requests. ``aclose`` closes what is open."""

    def __init__(self, settings: LlmSettings, now: Callable[[], datetime], tracer: Tracer) -> None:
        """Opens no connection yet. ``now`` is needed for dates in Retry-After. Raises GatewaySettingsError."""
        self._most = settings.max_reply_bytes
        self._longest_pause = settings.max_rest_seconds
        self._now = now
        self._tracer = tracer
        self._key = settings.api_key.get_secret_value() or "no-key"
        self._left_out: dict[str, set[str]] = {}
        self._excessive: set[str] = set()
        # Otherwise the library would send the key, organisation and headers of its own variables to any server.
        self._headers: dict[str, str | openai.Omit] = {
            "Authorization": f"Bearer {self._key}",
            "OpenAI-Organization": openai.Omit(),
            "OpenAI-Project": openai.Omit(),
        }
        # The caller's deadline bounds the whole request; a server that can't be reached fails sooner.
        patience = httpx2.Timeout(None, connect=settings.connect_seconds)
        try:
            connections = httpx2.AsyncClient(
                timeout=patience,
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=None, max_keepalive_connections=32),
                event_hooks={"response": [self._bound]},
            )
        except (ImportError, ValueError, httpx2.InvalidURL) as error:
            # A proxy's address may hold a password.
            problem = f"the proxy that the environment names can't be used: {type(error).__name__}"
            raise GatewaySettingsError(problem) from error
        self._openai = openai.AsyncOpenAI(
            base_url=settings.base_url or OPENAI,
            api_key=self._key,
            max_retries=0,
            timeout=patience,
            default_headers={"Accept-Encoding": "identity"},
            http_client=connections,
        )

    async def aclose(self) -> None:
        await self._openai.close()

    async def ask(self, need: AskModel, model: str, limits: ModelLimits) -> Answer | Failure:
        """Sends one request, in a span without its text. Failures are values; cancellation closes the connection."""
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": need.max_tokens,
            "gen_ai.request.temperature": need.temperature,
            "assay.task": need.task,
            "assay.prompt_version": need.prompt_version,
        }
        with self._tracer.call(f"chat {model}", attributes) as span:
            result = await self._exchange(need, model, limits)
            if (usage := result.usage) is not None:
                span.note({"gen_ai.usage.input_tokens": usage.prompt_tokens})
                span.note({"gen_ai.usage.output_tokens": usage.completion_tokens})
            if result.outcome in _FINISHED:
                span.note({"gen_ai.response.finish_reasons": _FINISHED[result.outcome]})
            if result.outcome is not CallOutcome.OK:
                span.failed(result.outcome)
        return result

    async def _exchange(self, need: AskModel, model: str, limits: ModelLimits) -> Answer | Failure:
        most = need.max_tokens + limits.thinking_tokens
        body = self._body(need, model, limits.structured, most)
        try:
            response = await self._openai.post(
                _PATH, cast_to=httpx2.Response, body=body, options={"headers": self._headers}
            )
        except openai.APIStatusError as error:
            return self._refused(error, model, body)
        except openai.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, httpx2.ConnectError | httpx2.ConnectTimeout):
                # Nothing was sent, so the error contains no text of a question.
                what = f"{type(cause).__name__}: {cause}".rstrip(": ")
                return Failure(FailureKind.DOWN, self._safe(f"{self._unreachable()}: {what}"))
            return self._broken(cause or error)
        except (openai.OpenAIError, httpx2.HTTPError, ResponseTooLargeError, OSError) as error:
            return self._broken(error)
        completion = read_completion(response.content, len(response.request.content), most)
        if completion is None:
            return Failure(FailureKind.PASSING, "the response is no completion")
        usage = completion.usage
        if usage is not None and usage.excess and model not in self._excessive:
            # Once for each model: it uses hidden tokens, or its server counts wrongly.
            self._excessive.add(model)
            setting = f"models.limits.{model}.thinking_tokens"
            log.warning(
                "the server counts more tokens than a reply may have", model=model, allowed=most, setting=setting
            )
        tokens = _number(response.headers.get("x-ratelimit-limit-tokens", ""))
        if usage is not None and tokens is not None and tokens < usage.prompt_tokens + usage.completion_tokens:
            # This answer alone used more than the stated limit of a minute.
            tokens = None
        return Answer(completion, _number(response.headers.get("x-ratelimit-limit-requests", "")), tokens)

    def _body(self, need: AskModel, model: str, structured: bool, most: int) -> dict[str, Any]:
        without = self._left_out.get(model, set())
        body: dict[str, Any] = {"model": model, "messages": [_message(message) for message in need.messages]}
        # A model that refuses ``max_tokens`` accepts the new name.
        body["max_completion_tokens" if "max_tokens" in without else "max_tokens"] = most
        if "temperature" not in without:
            body["temperature"] = need.temperature
        if need.tools:
            body["tools"] = [{"type": "function", "function": definition_of(tool)} for tool in need.tools]
        if need.schema is not None and structured and "response_format" not in without:
            schema = {"name": need.task, "schema": dict(need.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _refused(self, error: openai.APIStatusError, model: str, body: Mapping[str, Any]) -> Failure:
        status, headers = error.status_code, error.response.headers
        advice = f"({_ADVICE[status]})" if status in _ADVICE else ""
        cause = self._safe(" ".join(filter(None, (f"status {status}", _code(error), advice))))
        server_text = self._safe(error.message)
        if (wait := retry_after(headers, self._now())) is not None:
            wait = min(wait, self._longest_pause)
        if status == 429 or (status in (503, 529) and wait is not None):
            return Failure(FailureKind.LIMITED, cause, wait, server_text)
        if status in (400, 422):
            for name in _REFUSABLE:
                if name in body and _is_about(name, str(error)):
                    self._left_out.setdefault(model, set()).add(name)
                    return Failure(FailureKind.ADAPT, cause, None, server_text)
        if status in (401, 402, 404, 407) or 300 <= status < 400:
            return Failure(FailureKind.ACCESS_DENIED, cause, wait, server_text)
        # 403 may be about the key, or about a question that a filter rejects.
        if status >= 500 or status in (403, 408, 409, 425):
            return Failure(FailureKind.PASSING, cause, wait, server_text)
        return Failure(FailureKind.REQUEST, cause, None, server_text)

    def _broken(self, error: BaseException) -> Failure:
        """A failure of the response; the text of the error may quote it."""
        return Failure(FailureKind.PASSING, type(error).__name__, None, self._safe(str(error)))

    def _unreachable(self) -> str:
        url = self._openai.base_url
        port = url.port or (80 if url.scheme == "http" else 443)
        advice = "is it up, and is ASSAY_LLM__BASE_URL right?"
        return f"the model's server {url.host}:{port} can't be reached ({advice})"

    def _safe(self, detail: str) -> str:
        """A detail for logs and events: short, valid text, and without the key."""
        text = without_secret(detail, self._key, MAX_DETAIL)
        # Half of a surrogate pair can't be encoded, and no store accepts a NUL.
        return text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "")

    async def _bound(self, response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ResponseTooLargeError("compressed, so its size is unknown")
        stream = response.stream
        if isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _Bounded(stream, self._most)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._room = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._room -= len(chunk)
            if self._room < 0:
                raise ResponseTooLargeError("longer than llm.max_reply_bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _code(error: openai.APIStatusError) -> str:
    """The provider's error code, if it has one."""
    code = str(error.code or error.type or "")
    return code if code.replace("_", "").isalnum() and len(code) <= 60 else ""


def _is_about(name: str, complaint: str) -> bool:
    """Whether a parameter is refused altogether, and not only its value."""
    if name == "response_format":
        return name in complaint or "json_schema" in complaint
    return name in complaint and "support" in complaint.lower()


def _message(message: Message) -> dict[str, Any]:
    # Half of a surrogate pair can't be sent.
    content = message.content.encode("utf-8", "replace").decode("utf-8")
    sent: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def _number(text: str) -> int | None:
    return int(text[:12]) if text.isascii() and text.isdigit() and int(text[:12]) > 0 else None
