extends Reference
# Where the daemon is: --url=… and --token=… after "--", else CRU_URL and CRU_TOKEN, else the files .coven/url and
# .coven/token of the project that this folder lies in (or --project=FOLDER, or CRU_PROJECT).


static func argument(name):
	for word in OS.get_cmdline_args():
		if word.begins_with("--%s=" % name):
			return word.substr(name.length() + 3)
	return ""


static func flag(name):
	return "--%s" % name in OS.get_cmdline_args()


static func first_line(path):
	var file = File.new()
	if not file.file_exists(path) or file.open(path, File.READ) != OK:
		return ""
	var line = file.get_line().strip_edges()
	file.close()
	return line


# The nearest folder, from here upwards, with a .coven in it.
static func project():
	for given in [argument("project"), OS.get_environment("CRU_PROJECT")]:
		if given != "":
			return given
	var folder = ProjectSettings.globalize_path("res://").rstrip("/")
	while folder != "":
		if File.new().file_exists(folder + "/.coven/url"):
			return folder
		folder = folder.get_base_dir() if folder != folder.get_base_dir() else ""
	return ""


static func pick(name, file):
	for given in [argument(name), OS.get_environment("CRU_" + name.to_upper())]:
		if given != "":
			return given
	var folder = project()
	return first_line(folder + "/.coven/" + file) if folder != "" else ""


static func token():
	return pick("token", "token")


# ws://127.0.0.1:PORT/ws, whichever way the address is written.
static func address():
	var url = pick("url", "url")
	if url == "":
		url = "http://127.0.0.1:8765"
	url = url.replace("http://", "ws://").replace("https://", "wss://")
	var query = url.find("?")
	if query >= 0:
		url = url.substr(0, query)
	var hash_at = url.find("#")
	if hash_at >= 0:
		url = url.substr(0, hash_at)
	url = url.rstrip("/")
	return url if url.ends_with("/ws") else url + "/ws"
