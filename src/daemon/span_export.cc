#include "daemon/span_export.h"

#include "minds/http_mind.h"
#include "platform/files/log.h"
#include "platform/files/trouble.h"

namespace cru::daemon {

std::unique_ptr<telemetry::OtlpExporter> make_exporter(
    Loop& loop, const std::map<std::string, std::string>& environment) {
  auto settings = telemetry::otlp_settings(environment);
  if (!settings) {
    auto sentence = "traces are not exported: " + settings.error().message;
    if (!settings.error().hint.empty()) sentence += "; " + settings.error().hint;
    if (tell_trouble("export settings", sentence)) log_warn(sentence);
    return nullptr;
  }
  if (!*settings) return nullptr;
  minds::Provider collector;
  collector.base_url = (*settings)->url;
  auto proxy = minds::proxy_for(collector, environment);
  auto exporter = std::make_unique<telemetry::OtlpExporter>(
      loop, system_random(), **std::move(settings), telemetry::ExportProxy{proxy.proxy, proxy.no_proxy});
  log_info("traces are exported", {{"endpoint", exporter->counts().place}});
  return exporter;
}

}  // namespace cru::daemon
