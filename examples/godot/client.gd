extends Node
# The connection: one JSON object a message. Keeps the cursor (the newest seq), so that a lost connection is taken up
# again where it was, without a new snapshot. Whoever wants the messages connects to "received".

signal opened
signal closed(reason)
signal received(message)

const Settings = preload("res://settings.gd")

var cursor = -1  # the newest event that we have seen; -1: none
var clock = 0  # the daemon's milliseconds minus ours
var _socket = null
var _is_open = false
var _pause = 0.0
var _asked = 0
var _trouble = ""  # why the connection is over; let go of only after its own signal
var _has_left = false


func _ready():
	_connect()


func _process(delta):
	if _socket != null:
		_socket.poll()
		if _trouble != "":
			_lost(_trouble)
	elif _pause > 0 and not _has_left:
		_pause -= delta
		if _pause <= 0:
			_connect()


# Milliseconds of the daemon's clock: what t0_ms of a walk is measured with.
func now():
	return OS.get_system_time_msecs() + clock


# Sends a request; its answer carries the request_id that is given back.
func ask(type, fields = {}):
	if not _is_open:
		return ""
	_asked += 1
	var message = {"type": type, "request_id": "godot-%d" % _asked}
	for key in fields:
		message[key] = fields[key]
	_socket.get_peer(1).put_packet(to_json(message).to_utf8())
	return message["request_id"]


# Says goodbye, and does not come back.
func leave():
	if _socket != null and _is_open:
		_socket.disconnect_from_host(1000, "bye")
	_has_left = true


func _connect():
	var url = "%s?token=%s" % [Settings.address(), Settings.token().percent_encode()]
	if cursor >= 0:
		url += "&since=%d" % cursor
	_socket = WebSocketClient.new()
	# A message of the daemon is at most 60,000 bytes; several may wait while a frame is drawn.
	_socket.set_buffers(256, 1024, 64, 64)
	for name in ["connection_established", "connection_closed", "connection_error", "data_received"]:
		_socket.connect(name, self, "_on_" + name)
	if _socket.connect_to_url(url) != OK:
		_lost("the address cannot be used")


func _on_connection_established(_protocol):
	_is_open = true
	_socket.get_peer(1).set_write_mode(WebSocketPeer.WRITE_MODE_TEXT)
	emit_signal("opened")


func _on_connection_closed(was_clean):
	_trouble = "closed" if was_clean else "lost"


func _on_connection_error():
	_trouble = "no daemon, or another token"


func _lost(reason):
	_is_open = false
	_socket = null
	_trouble = ""
	_pause = 1.0
	emit_signal("closed", reason)


func _on_data_received():
	var parsed = JSON.parse(_socket.get_peer(1).get_packet().get_string_from_utf8())
	if parsed.error != OK or typeof(parsed.result) != TYPE_DICTIONARY:
		push_warning("a message that is no JSON object")
		return
	var message = parsed.result
	if message.has("now_ms"):
		clock = int(message["now_ms"]) - OS.get_system_time_msecs()
	# A snapshot in pages is whole only with its last one.
	var is_whole = int(message.get("page", 1)) == int(message.get("pages", 1))
	if message.has("seq") and is_whole:
		cursor = int(message["seq"])
	emit_signal("received", message)
