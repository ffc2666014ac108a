#pragma once
/// Where this daemon's spans go: to the collector that its environment names, or nowhere.
#include <map>
#include <memory>

#include "platform/telemetry/otlp_exporter.h"

namespace cru::daemon {

/// Null where nothing is to be exported. What cannot be used is told as a trouble: it is no reason not to
/// start.
std::unique_ptr<telemetry::OtlpExporter> make_exporter(Loop& loop,
                                                       const std::map<std::string, std::string>& environment);

}  // namespace cru::daemon
