#pragma once
/// What is told of the replies of minds to whoever collects spans and counts, whoever asks: chats, subagents,
/// live agents, conversations of auto mode. By OpenTelemetry's conventions for generative AI. Nothing that
/// was said is in it. Where nobody collects, nothing is made.
#include "minds/minds_service.h"
#include "platform/loop/clock.h"
#include "platform/telemetry/span.h"

namespace cru::minds {

/// Whose work a span is part of.
struct SpanOwner {
  TraceContext context;
  std::string agent, agent_id, conversation_id;
};

/// Asks the mind as the span `span_id` of its owner, which the mind's server or program goes on with, and
/// tells how long it took and what it cost.
Task<Result<Reply>> ask_observed(const Clock& clock, telemetry::Telemetry telemetry, SpanOwner owner,
                                 std::string span_id, Choice choice, Request request, Listener& listener,
                                 Stop& stop);
/// Tokens and money of a reply, or of one that came to nothing.
void count_spent(telemetry::Metrics* metrics, const Choice& choice, const Usage& usage,
                 std::optional<double> cost_usd);
/// The same of whatever has no model of ours.
void count_spent(telemetry::Metrics* metrics, const std::string& provider, const std::string& model,
                 const Usage& usage, std::optional<double> cost_usd);

// The parts of such spans. Pure functions.

/// `invoke_agent NAME`.
telemetry::Span invocation_of(TraceContext context, const std::string& agent, Time began, Time ended);
/// `chat MODEL`: a reply of a model; of a program that is a mind `invoke_agent PROGRAM`.
telemetry::Span span_of_reply(const SpanOwner& owner, std::string span_id, const Choice& choice,
                              const Result<Reply>& reply, Time began, Time ended);
void add_owner(telemetry::Span& span, const SpanOwner& owner);
void add_usage(telemetry::Span& span, const Usage& usage);
/// What the conventions call the provider; of one whose name alone is known.
std::string provider_name(const Provider& provider);
std::string provider_name(std::string_view configured);
/// How a failure of a mind is told.
std::string error_type_of(const Error& error);

}  // namespace cru::minds
