extends Node
# The connection for Godot 4 (WebSocketPeer); the same contract as ../client.gd. Not run by our tests: Debian 12 has Godot 3.

signal opened
signal closed(reason: String)
signal received(message: Dictionary)

var address := "ws://127.0.0.1:8765/ws"
var token := ""
var cursor := -1  # the newest event that we have seen; -1: none
var clock := 0  # the daemon's milliseconds minus ours
var _socket: WebSocketPeer = null
var _is_open := false
var _pause := 0.0
var _asked := 0


func _ready() -> void:
	_connect()


func _process(delta: float) -> void:
	if _socket == null:
		_pause -= delta
		if _pause <= 0:
			_connect()
		return
	_socket.poll()
	match _socket.get_ready_state():
		WebSocketPeer.STATE_OPEN:
			if not _is_open:
				_is_open = true
				opened.emit()
			while _socket.get_available_packet_count() > 0:
				_take(_socket.get_packet().get_string_from_utf8())
		WebSocketPeer.STATE_CLOSED:
			_lost("closed: %d" % _socket.get_close_code())


# Milliseconds of the daemon's clock: what t0_ms of a walk is measured with.
func now() -> int:
	return int(Time.get_unix_time_from_system() * 1000) + clock


# Sends a request; its answer carries the request_id that is given back.
func ask(type: String, fields := {}) -> String:
	if not _is_open:
		return ""
	_asked += 1
	var message := {"type": type, "request_id": "godot-%d" % _asked}
	message.merge(fields)
	_socket.send_text(JSON.stringify(message))
	return message["request_id"]


func _connect() -> void:
	var url := "%s?token=%s" % [address, token.uri_encode()]
	if cursor >= 0:
		url += "&since=%d" % cursor
	_socket = WebSocketPeer.new()
	# A message of the daemon is at most 60,000 bytes; several may wait while a frame is drawn.
	_socket.inbound_buffer_size = 1 << 18
	if _socket.connect_to_url(url) != OK:
		_lost("the address cannot be used")


func _lost(reason: String) -> void:
	_is_open = false
	_socket = null
	_pause = 1.0
	closed.emit(reason)


func _take(text: String) -> void:
	var message = JSON.parse_string(text)
	if not message is Dictionary:
		push_warning("a message that is no JSON object")
		return
	if message.has("now_ms"):
		clock = int(message["now_ms"]) - int(Time.get_unix_time_from_system() * 1000)
	# A snapshot in pages is whole only with its last one.
	var is_whole: bool = int(message.get("page", 1)) == int(message.get("pages", 1))
	if message.has("seq") and is_whole:
		cursor = int(message["seq"])
	received.emit(message)
