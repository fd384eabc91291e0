//! Facts on models: how much they read and write, what they cost, what they can do. Only facts; how a
//! name finds its row is the catalogue's business.
//!
//! Limits and prices of the hosted providers are those of models.dev on 2026-07-02; where a price rises with
//! the length of the prompt, it is the lower one. Three things are not from there: OpenAI's models that see
//! are taken to read files too, those of Google and xAI are not, as they are reached by an endpoint for chat;
//! how a model is told to think is read from the options listed there; and the rows of open models are
//! rounded to families, some of them (Qwen 2.5, QwQ, Llama 3, SmolLM) without a source.
//!
//! The rows of a provider begin with the one that is taken when nobody names one.

use ostler_types::{Ability, Prices};

use super::CatalogueRow;
use crate::profile::ThinkingControl::{self, Adaptive, Budget, Effort, Never, Unknown};

/// Anthropic.
pub(super) const ANTHROPIC: &[CatalogueRow] = &[
    row("claude-sonnet-5", 1_000_000, 128_000, writing(2.0, 10.0, 0.2, 2.5), TVFRC, Adaptive),
    row("claude-opus-4-8", 1_000_000, 128_000, writing(5.0, 25.0, 0.5, 6.25), TVFRC, Adaptive),
    row("claude-fable-5", 1_000_000, 128_000, writing(10.0, 50.0, 1.0, 12.5), TVFRC, Adaptive),
    row("claude-haiku-4-5", 200_000, 64_000, writing(1.0, 5.0, 0.1, 1.25), TVFRC, Budget),
    row("claude-opus-4-7", 1_000_000, 128_000, writing(5.0, 25.0, 0.5, 6.25), TVFRC, Adaptive),
    row("claude-opus-4-6", 1_000_000, 128_000, writing(5.0, 25.0, 0.5, 6.25), TVFRC, Adaptive),
    row("claude-sonnet-4-6", 1_000_000, 64_000, writing(3.0, 15.0, 0.3, 3.75), TVFRC, Adaptive),
    row("claude-opus-4-5", 200_000, 64_000, writing(5.0, 25.0, 0.5, 6.25), TVFRC, Budget),
    row("claude-sonnet-4-5", 200_000, 64_000, writing(3.0, 15.0, 0.3, 3.75), TVFRC, Budget),
    row("claude-opus-4-1", 200_000, 32_000, writing(15.0, 75.0, 1.5, 18.75), TVFRC, Budget),
    row("claude-opus-4", 200_000, 32_000, writing(15.0, 75.0, 1.5, 18.75), TVFRC, Budget),
    row("claude-sonnet-4", 200_000, 64_000, writing(3.0, 15.0, 0.3, 3.75), TVFRC, Budget),
    row("claude-3-7-sonnet", 200_000, 64_000, writing(3.0, 15.0, 0.3, 3.75), TVFRC, Budget),
];

/// OpenAI.
pub(super) const OPENAI: &[CatalogueRow] = &[
    row("gpt-5.5", 1_050_000, 128_000, caching(5.0, 30.0, 0.5), TVFRC, Effort),
    row("gpt-5.5-pro", 1_050_000, 128_000, plain(30.0, 180.0), TVFR, Effort),
    row("gpt-5.4", 1_050_000, 128_000, caching(2.5, 15.0, 0.25), TVFRC, Effort),
    row("gpt-5.4-mini", 400_000, 128_000, caching(0.75, 4.5, 0.075), TVFRC, Effort),
    row("gpt-5.4-nano", 400_000, 128_000, caching(0.2, 1.25, 0.02), TVFRC, Effort),
    row("gpt-5.4-pro", 1_050_000, 128_000, plain(30.0, 180.0), TVFR, Effort),
    row("gpt-5.3-codex", 400_000, 128_000, caching(1.75, 14.0, 0.175), TVFRC, Effort),
    row("gpt-5.3-codex-spark", 128_000, 32_000, caching(1.75, 14.0, 0.175), TVFRC, Effort),
    row("gpt-5.2", 400_000, 128_000, caching(1.75, 14.0, 0.175), TVFRC, Effort),
    row("gpt-5.2-codex", 400_000, 128_000, caching(1.75, 14.0, 0.175), TVFRC, Effort),
    row("gpt-5.2-pro", 400_000, 128_000, plain(21.0, 168.0), TVFR, Effort),
    row("gpt-5.1", 400_000, 128_000, caching(1.25, 10.0, 0.125), TVFRC, Effort),
    row("gpt-5.1-codex", 400_000, 128_000, caching(1.25, 10.0, 0.125), TVFRC, Effort),
    row("gpt-5.1-codex-max", 400_000, 128_000, caching(1.25, 10.0, 0.125), TVFRC, Effort),
    row("gpt-5.1-codex-mini", 400_000, 128_000, caching(0.25, 2.0, 0.025), TVFRC, Effort),
    row("gpt-5", 400_000, 128_000, caching(1.25, 10.0, 0.125), TVFRC, Effort),
    row("gpt-5-mini", 400_000, 128_000, caching(0.25, 2.0, 0.025), TVFRC, Effort),
    row("gpt-5-nano", 400_000, 128_000, caching(0.05, 0.4, 0.005), TVFRC, Effort),
    row("gpt-5-codex", 400_000, 128_000, caching(1.25, 10.0, 0.125), TVFRC, Effort),
    row("gpt-5-pro", 400_000, 272_000, plain(15.0, 120.0), TVFR, Effort),
    row("gpt-4.1", 1_047_576, 32_768, caching(2.0, 8.0, 0.5), TVFC, Never),
    row("gpt-4.1-mini", 1_047_576, 32_768, caching(0.4, 1.6, 0.1), TVFC, Never),
    row("gpt-4.1-nano", 1_047_576, 32_768, caching(0.1, 0.4, 0.025), TVFC, Never),
    row("gpt-4o", 128_000, 16_384, caching(2.5, 10.0, 1.25), TVFC, Never),
    row("gpt-4o-mini", 128_000, 16_384, caching(0.15, 0.6, 0.075), TVFC, Never),
    row("o3", 200_000, 100_000, caching(2.0, 8.0, 0.5), TVFRC, Effort),
    row("o3-pro", 200_000, 100_000, plain(20.0, 80.0), TVFR, Effort),
    row("o3-mini", 200_000, 100_000, caching(1.1, 4.4, 0.55), TRC, Effort),
    row("o4-mini", 200_000, 100_000, caching(1.1, 4.4, 0.275), TVFRC, Effort),
];

/// Google, by its endpoint for clients of OpenAI.
pub(super) const GEMINI: &[CatalogueRow] = &[
    row("gemini-3.5-flash", 1_048_576, 65_536, caching(1.5, 9.0, 0.15), TVRC, Effort),
    row("gemini-3.1-pro-preview", 1_048_576, 65_536, caching(2.0, 12.0, 0.2), TVRC, Effort),
    row("gemini-3.1-flash-lite", 1_048_576, 65_536, caching(0.25, 1.5, 0.025), TVRC, Effort),
    row("gemini-3-flash-preview", 1_048_576, 65_536, caching(0.5, 3.0, 0.05), TVRC, Effort),
    row("gemini-2.5-pro", 1_048_576, 65_536, caching(1.25, 10.0, 0.125), TVRC, Effort),
    row("gemini-2.5-flash", 1_048_576, 65_536, caching(0.3, 2.5, 0.03), TVRC, Effort),
    row("gemini-2.5-flash-lite", 1_048_576, 65_536, caching(0.1, 0.4, 0.01), TVRC, Effort),
];

/// xAI. Those that think and cannot be told how much are marked `Never`, as telling them is refused.
pub(super) const XAI: &[CatalogueRow] = &[
    row("grok-4.3", 1_000_000, 30_000, caching(1.25, 2.5, 0.2), TVRC, Effort),
    row("grok-4.20-0309-reasoning", 1_000_000, 30_000, caching(1.25, 2.5, 0.2), TVRC, Never),
    row("grok-4.20-0309-non-reasoning", 1_000_000, 30_000, caching(1.25, 2.5, 0.2), TVC, Never),
    row("grok-build-0.1", 256_000, 256_000, caching(1.0, 2.0, 0.2), TVRC, Never),
];

/// Mistral.
pub(super) const MISTRAL: &[CatalogueRow] = &[
    row("mistral-medium-2604", 262_144, 262_144, plain(1.5, 7.5), TVR, Effort),
    row("mistral-medium-latest", 262_144, 262_144, plain(0.4, 2.0), TV, Never),
    row("mistral-large-latest", 262_144, 262_144, plain(0.5, 1.5), TV, Never),
    row("mistral-large-2512", 262_144, 262_144, plain(0.5, 1.5), TV, Never),
    row("mistral-small-latest", 256_000, 256_000, plain(0.15, 0.6), TVR, Effort),
    row("codestral-latest", 256_000, 4_096, plain(0.3, 0.9), T, Never),
    row("devstral-latest", 262_144, 262_144, plain(0.4, 2.0), T, Never),
    row("magistral-medium-latest", 128_000, 16_384, plain(2.0, 5.0), TR, Never),
    row("ministral-8b-latest", 128_000, 128_000, plain(0.1, 0.1), T, Never),
];

/// DeepSeek.
pub(super) const DEEPSEEK: &[CatalogueRow] = &[
    row("deepseek-v4-pro", 1_000_000, 384_000, caching(0.435, 0.87, 0.003625), TRC, Effort),
    row("deepseek-v4-flash", 1_000_000, 384_000, caching(0.14, 0.28, 0.0028), TRC, Effort),
    row("deepseek-chat", 1_000_000, 384_000, caching(0.14, 0.28, 0.0028), TC, Never),
    row("deepseek-reasoner", 1_000_000, 384_000, caching(0.14, 0.28, 0.0028), TRC, Never),
];

/// Groq.
pub(super) const GROQ: &[CatalogueRow] = &[
    row("openai/gpt-oss-120b", 131_072, 65_536, caching(0.15, 0.6, 0.075), TRC, Effort),
    row("openai/gpt-oss-20b", 131_072, 65_536, caching(0.075, 0.3, 0.0375), TRC, Effort),
    row("llama-3.3-70b-versatile", 131_072, 32_768, plain(0.59, 0.79), T, Never),
    row("llama-3.1-8b-instant", 131_072, 131_072, plain(0.05, 0.08), T, Never),
    row("qwen/qwen3-32b", 131_072, 40_960, plain(0.29, 0.59), TR, Never),
];

/// OpenRouter, which tells the rest itself.
pub(super) const OPENROUTER: &[CatalogueRow] = &[
    row("anthropic/claude-sonnet-5", 1_000_000, 128_000, writing(2.0, 10.0, 0.2, 2.5), TVFRC, Effort),
    row("anthropic/claude-opus-4.8", 1_000_000, 128_000, writing(5.0, 25.0, 0.5, 6.25), TVFRC, Effort),
    row("anthropic/claude-haiku-4.5", 200_000, 64_000, writing(1.0, 5.0, 0.1, 1.25), TVFRC, Effort),
    row("openai/gpt-5.5", 1_050_000, 128_000, caching(5.0, 30.0, 0.5), TVFRC, Effort),
    row("openai/gpt-5.4-mini", 400_000, 128_000, caching(0.75, 4.5, 0.075), TVFRC, Effort),
    row("google/gemini-3.5-flash", 1_048_576, 65_536, writing(1.5, 9.0, 0.15, 0.083333), TVFRC, Effort),
    row("google/gemini-3.1-pro-preview", 1_048_576, 65_536, writing(2.0, 12.0, 0.2, 0.375), TVFRC, Effort),
    row("x-ai/grok-4.3", 1_000_000, 1_000_000, caching(1.25, 2.5, 0.2), TVFRC, Effort),
    row("deepseek/deepseek-v4-pro", 1_048_576, 384_000, caching(0.435, 0.87, 0.003625), TRC, Effort),
    row("deepseek/deepseek-v4-flash", 1_048_575, 65_536, caching(0.098, 0.196, 0.02), TRC, Effort),
    row("qwen/qwen3-coder", 262_144, 65_536, plain(0.22, 1.8), T, Never),
    row("qwen/qwen3-coder-next", 262_144, 262_144, caching(0.11, 0.8, 0.07), TC, Never),
    row("qwen/qwen3.7-max", 1_000_000, 65_536, writing(1.25, 3.75, 0.25, 1.5625), TRC, Effort),
    row("moonshotai/kimi-k2.7-code", 262_144, 16_384, caching(0.74, 3.5, 0.15), TVRC, Effort),
    row("z-ai/glm-5.2", 1_048_576, 32_768, caching(0.93, 3.0, 0.18), TRC, Effort),
    row("minimax/minimax-m3", 524_288, 512_000, caching(0.3, 1.2, 0.06), TVRC, Effort),
    row("openai/gpt-oss-120b", 131_072, 131_072, plain(0.03, 0.15), TR, Effort),
    row("openai/gpt-oss-20b", 131_072, 131_072, plain(0.029, 0.14), TR, Effort),
];

/// Open models, by the beginning of their names, wherever they run.
pub(super) const OPEN: &[CatalogueRow] = &[
    row("qwen3.6", 262_144, 65_536, UNPRICED, TVR, Unknown),
    row("qwen3.5", 262_144, 65_536, UNPRICED, TVR, Unknown),
    row("qwen3-coder", 262_144, 65_536, UNPRICED, T, Never),
    row("qwen3-next", 131_072, 32_768, UNPRICED, T, Unknown),
    row("qwen3-vl", 131_072, 32_768, UNPRICED, TV, Unknown),
    row("qwen3", 40_960, 16_384, UNPRICED, TR, Unknown),
    row("qwq", 131_072, 0, UNPRICED, TR, Never),
    row("qwen2.5-coder", 32_768, 0, UNPRICED, T, Never),
    row("qwen2.5-vl", 131_072, 8_192, UNPRICED, TV, Never),
    row("qwen2.5", 32_768, 0, UNPRICED, T, Never),
    row("gpt-oss", 131_072, 32_768, UNPRICED, TR, Effort),
    row("llama-4", 131_072, 16_384, UNPRICED, TV, Never),
    row("llama-3.3", 131_072, 0, UNPRICED, T, Never),
    row("llama-3.2-vision", 131_072, 0, UNPRICED, V, Never),
    row("llama-3.2", 131_072, 0, UNPRICED, T, Never),
    row("llama-3.1", 131_072, 0, UNPRICED, T, Never),
    row("glm-5.2", 1_000_000, 131_072, UNPRICED, TR, Unknown),
    row("glm-5", 200_000, 131_072, UNPRICED, TR, Unknown),
    row("glm-4.7", 200_000, 131_072, UNPRICED, TR, Unknown),
    row("glm-4.6v", 128_000, 32_768, UNPRICED, TVR, Unknown),
    row("glm-4.6", 204_800, 131_072, UNPRICED, TR, Unknown),
    row("glm-4.5v", 64_000, 16_384, UNPRICED, TVR, Unknown),
    row("glm-4.5", 131_072, 98_304, UNPRICED, TR, Unknown),
    row("kimi-k2.7", 262_144, 262_144, UNPRICED, TVR, Unknown),
    row("kimi-k2.6", 262_144, 262_144, UNPRICED, TVR, Unknown),
    row("kimi-k2.5", 262_144, 262_144, UNPRICED, TVR, Unknown),
    row("kimi-k2-thinking", 262_144, 262_144, UNPRICED, TR, Never),
    row("kimi-k2", 131_072, 100_352, UNPRICED, T, Never),
    row("minimax-m3", 512_000, 128_000, UNPRICED, TVR, Unknown),
    row("minimax-m2", 196_608, 128_000, UNPRICED, TR, Unknown),
    row("deepseek-v4", 1_000_000, 384_000, UNPRICED, TR, Unknown),
    row("deepseek-v3", 128_000, 64_000, UNPRICED, TR, Unknown),
    row("deepseek-r1", 128_000, 32_768, UNPRICED, TR, Never),
    row("devstral", 128_000, 128_000, UNPRICED, T, Never),
    row("codestral", 256_000, 4_096, UNPRICED, T, Never),
    row("mistral-small", 128_000, 16_384, UNPRICED, TV, Unknown),
    row("mistral-nemo", 128_000, 128_000, UNPRICED, T, Never),
    row("magistral", 128_000, 16_384, UNPRICED, TR, Never),
    row("gemma-4", 131_072, 8_192, UNPRICED, TVR, Unknown),
    row("gemma-3n", 32_768, 0, UNPRICED, NONE, Never),
    row("gemma-3", 131_072, 16_384, UNPRICED, TV, Never),
    row("nemotron-3", 262_144, 0, UNPRICED, TR, Unknown),
    row("granite-4", 131_072, 0, UNPRICED, T, Never),
    row("phi-4", 16_384, 16_384, UNPRICED, NONE, Never),
    row("smollm3", 65_536, 0, UNPRICED, TR, Unknown),
    row("smollm2", 8_192, 0, UNPRICED, T, Never),
];

const NONE: &[Ability] = &[];
const T: &[Ability] = &[Ability::Tools];
const TC: &[Ability] = &[Ability::Tools, Ability::Caching];
const TR: &[Ability] = &[Ability::Tools, Ability::Reasoning];
const TRC: &[Ability] = &[Ability::Tools, Ability::Reasoning, Ability::Caching];
const TV: &[Ability] = &[Ability::Tools, Ability::Vision];
const TVC: &[Ability] = &[Ability::Tools, Ability::Vision, Ability::Caching];
const TVFC: &[Ability] = &[Ability::Tools, Ability::Vision, Ability::Files, Ability::Caching];
const TVFR: &[Ability] = &[Ability::Tools, Ability::Vision, Ability::Files, Ability::Reasoning];
const TVFRC: &[Ability] =
    &[Ability::Tools, Ability::Vision, Ability::Files, Ability::Reasoning, Ability::Caching];
const TVR: &[Ability] = &[Ability::Tools, Ability::Vision, Ability::Reasoning];
const TVRC: &[Ability] = &[Ability::Tools, Ability::Vision, Ability::Reasoning, Ability::Caching];
const V: &[Ability] = &[Ability::Vision];
const UNPRICED: Option<Prices> = None;

const fn row(
    id: &'static str,
    context_window: u64,
    max_output_tokens: u64,
    prices: Option<Prices>,
    abilities: &'static [Ability],
    thinking: ThinkingControl,
) -> CatalogueRow {
    CatalogueRow { id, context_window, max_output_tokens, prices, abilities, thinking }
}

const fn plain(input: f64, output: f64) -> Option<Prices> {
    Some(Prices { input, output, cached: None, cache_write: None })
}

const fn caching(input: f64, output: f64, cached: f64) -> Option<Prices> {
    Some(Prices { input, output, cached: Some(cached), cache_write: None })
}

const fn writing(input: f64, output: f64, cached: f64, cache_write: f64) -> Option<Prices> {
    Some(Prices { input, output, cached: Some(cached), cache_write: Some(cache_write) })
}
