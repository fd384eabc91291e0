"""Clients of Ostler's doors: http, gateway and lines of JSON."""

from ostler_client import gateway_types, http_types, jsonl_types
from ostler_client.agent_connection import AgentConnection
from ostler_client.asynchronous import AsyncClient
from ostler_client.backoff import Backoff
from ostler_client.errors import (
    CommandError,
    FellBehind,
    GatewayError,
    OstlerError,
    ProtocolError,
    RunError,
    Unreachable,
)
from ostler_client.gateway import GatewayClient, RunEnd
from ostler_client.http_requests import FeedEvent, is_record
from ostler_client.synchronous import Client

__all__ = [
    "AgentConnection",
    "AsyncClient",
    "Backoff",
    "Client",
    "CommandError",
    "FeedEvent",
    "FellBehind",
    "GatewayClient",
    "GatewayError",
    "OstlerError",
    "ProtocolError",
    "RunEnd",
    "RunError",
    "Unreachable",
    "gateway_types",
    "http_types",
    "is_record",
    "jsonl_types",
]
