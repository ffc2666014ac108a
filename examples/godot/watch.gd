extends Node
# Without a screen (Debian's godot3-server, or --watch): one line for each message, and an end. It is 0 when a spawn was
# confirmed and a state change, a speech and a move of an agent were seen, and 1 when that did not happen in 30 seconds
# (--seconds=N for another time; --stay for as long as you like).

const Settings = preload("res://settings.gd")

var client
var office
var is_on = false
var _mine = ""
var _seen = {}
var _left = 30.0
var _again = 0.0
var _tries = 0


func _ready():
	is_on = OS.has_feature("Server") or Settings.flag("watch")
	if Settings.argument("seconds") != "":
		_left = float(Settings.argument("seconds"))


func take(message):
	if not is_on:
		return
	print(line_of(message))
	match message["type"]:
		"agent_spawned":
			_mine = message["agent_id"]
			_seen["spawn"] = true
		"agent_state_update":
			_seen["state"] = true
		"agent_speech":
			_seen["speech"] = true
		"agent_moved":
			_seen["move"] = true
		"world_snapshot":
			# The office spawns one when it is empty; a spawn of our own is to be seen in any case.
			if int(message["page"]) == int(message["pages"]) and not office.agents.empty() and _mine == "":
				get_parent().spawn()


func line_of(message):
	var words = [message["type"]]
	for key in ["page", "agent_id", "user_id", "state", "x", "y", "content", "message", "status", "field"]:
		if message.has(key) and message[key] != null:
			words.append(str(message[key]))
	if message.has("agent"):
		if not message.has("agent_id"):
			words.append(str(message["agent"]["agent_id"]))
		words.append(str(message["agent"]["name"]))
	return PoolStringArray(words).join(" ")


func _process(delta):
	if not is_on:
		return
	_left -= delta
	if _seen.size() == 4 and not Settings.flag("stay"):
		finish(0)
	elif _left <= 0 and not Settings.flag("stay"):
		printerr("seen within the time: ", _seen.keys())
		finish(1)
	elif _mine != "":
		_again -= delta
		if _again <= 0:
			_again = 3.0
			provoke()


# Agents act by themselves; a word and an errand make that a matter of seconds.
func provoke():
	if not _seen.has("move"):
		var tile = office.free_tile(_mine, _tries)
		if tile != null:
			client.ask("move_agent", {"agent_id": _mine, "x": int(tile.x), "y": int(tile.y)})
	if not _seen.has("speech"):
		client.ask("chat_message", {"message": "Hello! What are you doing?", "to": [_mine]})
	_tries += 1


func finish(code):
	is_on = false
	client.leave()
	# The goodbye is sent on the way out.
	yield(get_tree().create_timer(0.2), "timeout")
	get_tree().quit(code)
