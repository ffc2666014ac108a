extends Node2D
# The office as the daemon tells it: the layout, everybody in it, their walks and their words. Nothing is decided here;
# a walk is {path, t0, speed}, so every client shows the same without a message a step.

const floors = [Color("3b3f51"), Color("46506a"), Color("4d5a55"), Color("5a4f47"), Color("54495e"), Color("3f5560"), Color("5c5a48")]
const wall = Color("22252f")
const states = {"idle": Color("8a93a6"), "listening": Color("5ab0f6"), "thinking": Color("f2c14e"), "speaking": Color("6fd08c")}
const coats = [Color("e07a5f"), Color("81b29a"), Color("f2cc8f"), Color("9a8cd0"), Color("6ca6c1"), Color("d98cb3")]
# Of furniture that is larger than a tile, as docs/formats/layout.md lists it.
const sizes = {"bookshelf": Vector2(1, 2), "desk": Vector2(2, 2), "sofa": Vector2(2, 1), "table": Vector2(3, 2), "whiteboard": Vector2(2, 1)}
const materials = {"bookshelf": Color("7a5238"), "chair": Color("546a8c"), "cooler": Color("a9d6e5"), "lamp": Color("f6e27f"), "pc": Color("1d2430"), "plant": Color("5fa55a"), "sofa": Color("7b5e7b"), "whiteboard": Color("e8ecef")}
const wood = Color("9b7653")
const paper = Color("f7f4ec")
const ink = Color("22252f")
const seconds_shown = 6.0

var client
var agents = {}  # by id, as the daemon sends them
var users = {}
var chosen = ""  # whom the words of the panel are for
var _layout = {"cols": 0, "rows": 0, "tiles": [], "furniture": []}
var _bubbles = {}  # id: {text, until}
var _font


func _ready():
	var any = Control.new()
	_font = any.get_font("font")
	any.free()


func _process(_delta):
	update()


func take(message):
	match message["type"]:
		"world_snapshot":
			if int(message["page"]) == 1:
				agents.clear()
				users.clear()
				_layout = message.get("layout", _layout)
				for user in message.get("users", []):
					users[user["user_id"]] = user
			for agent in message["agents"]:
				agents[agent["agent_id"]] = agent
		"agent_joined":
			agents[message["agent"]["agent_id"]] = message["agent"]
		"agent_left":
			agents.erase(message["agent_id"])
			_bubbles.erase(message["agent_id"])
		"agent_state_update":
			_change(message["agent_id"], ["state", "position", "current_task", "error"], message)
		"agent_moved":
			if agents.has(message["agent_id"]):
				agents[message["agent_id"]]["walk"] = message
				agents[message["agent_id"]]["position"] = {"x": message["x"], "y": message["y"]}
		"agent_speech":
			_say(message["agent_id"], message["content"])
		"chat_broadcast":
			_say(message["user_id"], message["message"])
		"user_joined":
			users[message["user_id"]] = message
		"user_left":
			users.erase(message["user_id"])
		"position_update":
			if users.has(message["user_id"]):
				users[message["user_id"]]["position"] = {"x": message["x"], "y": message["y"]}


func _change(id, keys, message):
	if not agents.has(id):
		return
	for key in keys:
		if message.has(key):
			agents[id][key] = message[key]


func _say(id, text):
	_bubbles[id] = {"text": text, "until": client.now() + int(seconds_shown * 1000)}


# Where somebody is now, in tiles: speed times the time since t0 along the path, or where it stands.
func place_of(body):
	var walk = body.get("walk")
	if typeof(walk) == TYPE_DICTIONARY and walk.get("path", []).size() > 1:
		var path = walk["path"]
		var gone = max(0, (client.now() - walk["t0_ms"]) / 1000.0 * walk["speed"])
		var step = int(gone)
		if step < path.size() - 1:
			return _tile(path[step]).linear_interpolate(_tile(path[step + 1]), gone - step)
		return _tile(path[path.size() - 1])
	if typeof(body.get("position")) == TYPE_DICTIONARY:
		return _tile(body["position"])
	return Vector2(-1, -1)


func _tile(value):
	return Vector2(value["x"], value["y"])


# A floor tile without furniture and without anybody, not far from an agent; another one for each try.
func free_tile(id, attempt):
	var from = place_of(agents[id]) if agents.has(id) else Vector2(1, 1)
	var found = []
	for row in int(_layout["rows"]):
		for col in int(_layout["cols"]):
			if _is_free(Vector2(col, row)) and abs(col - from.x) + abs(row - from.y) >= 2:
				found.append(Vector2(col, row))
	return found[(attempt * 7) % found.size()] if not found.empty() else null


func _is_free(tile):
	var kind = int(_layout["tiles"][int(tile.y) * int(_layout["cols"]) + int(tile.x)])
	if kind < 1 or kind > 7:
		return false
	for piece in _layout["furniture"]:
		if Rect2(Vector2(piece["col"], piece["row"]), _size(piece)).has_point(tile):
			return false
	for agent in agents.values():
		if place_of(agent).round() == tile:
			return false
	return true


func _size(piece):
	return sizes.get(piece["type"], Vector2(1, 1))


func _scale():
	return min(928.0 / max(1, _layout["cols"]), 528.0 / max(1, _layout["rows"]))


func _unhandled_input(event):
	if not (event is InputEventMouseButton and event.pressed and event.button_index == BUTTON_LEFT):
		return
	chosen = ""
	for id in agents:
		if (_middle(agents[id]) - event.position).length() < _scale() * 0.6:
			chosen = id


func _middle(body):
	return Vector2(16, 16) + (place_of(body) + Vector2(0.5, 0.5)) * _scale()


func _draw():
	var side = _scale()
	for row in int(_layout["rows"]):
		for col in int(_layout["cols"]):
			var kind = int(_layout["tiles"][row * int(_layout["cols"]) + col])
			if kind != 8:
				var color = wall if kind == 0 else floors[kind - 1]
				draw_rect(Rect2(Vector2(16 + col * side, 16 + row * side), Vector2(side - 1, side - 1)), color)
	for piece in _layout["furniture"]:
		var box = Rect2(Vector2(16, 16) + Vector2(piece["col"], piece["row"]) * side, _size(piece) * side)
		box = box.grow(-side * (0.28 if piece["type"] in ["lamp", "pc", "plant"] else 0.12))
		draw_rect(Rect2(box.position + Vector2(0, side * 0.08), box.size), Color(0, 0, 0, 0.25))
		draw_rect(box, materials.get(piece["type"], wood))
	for user in users.values():
		if place_of(user).x >= 0:
			draw_circle(_middle(user), side * 0.28, Color.white)
	for id in agents:
		_draw_agent(id, agents[id], side)
	for id in _bubbles.keys():
		if _bubbles[id]["until"] < client.now():
			_bubbles.erase(id)
		elif agents.has(id) or users.has(id):
			_draw_bubble(_bubbles[id]["text"], _middle(agents[id] if agents.has(id) else users[id]), side)


func _draw_agent(id, agent, side):
	var at = _middle(agent)
	var coat = coats[hash(id) % coats.size()]
	draw_circle(at + Vector2(0, side * 0.30), side * 0.26, Color(0, 0, 0, 0.25))
	draw_circle(at + Vector2(0, side * 0.12), side * 0.28, coat)
	draw_circle(at - Vector2(0, side * 0.16), side * 0.18, Color("f3d9c3"))
	draw_arc(at, side * 0.46, 0, TAU, 32, states.get(agent["state"], Color.gray), 4.0 if id == chosen else 2.0)
	if agent["state"] == "thinking":
		for dot in 3:
			var up = abs(sin(client.now() / 300.0 + dot)) * side * 0.12
			draw_circle(at + Vector2((dot - 1) * side * 0.18, -side * 0.55 - up), side * 0.06, states["thinking"])
	var label = str(agent["name"])
	draw_string(_font, at + Vector2(-_font.get_string_size(label).x / 2, side * 0.75), label, Color.white)


func _draw_bubble(text, at, side):
	var lines = _wrapped(text, 34, 4)
	var width = 0.0
	for line in lines:
		width = max(width, _font.get_string_size(line).x)
	var height = _font.get_height()
	var box = Rect2(at - Vector2(width / 2 + 8, side * 0.6 + lines.size() * height + 12), Vector2(width + 16, lines.size() * height + 10))
	box.position.x = clamp(box.position.x, 4, max(4, 956 - box.size.x))
	box.position.y = max(4, box.position.y)
	var tip = Vector2(clamp(at.x, box.position.x + 10, box.end.x - 10), box.end.y)
	draw_rect(Rect2(box.position + Vector2(2, 3), box.size), Color(0, 0, 0, 0.3))
	draw_rect(box, paper)
	draw_colored_polygon(PoolVector2Array([tip - Vector2(7, 0), tip + Vector2(7, 0), tip + Vector2(0, 8)]), paper)
	for n in lines.size():
		draw_string(_font, box.position + Vector2(8, 5 + n * height + _font.get_ascent()), lines[n], ink)


func _wrapped(text, columns, most):
	var lines = [""]
	for word in str(text).split(" ", false):
		if lines[-1].length() + word.length() > columns and lines[-1] != "":
			lines.append("")
		lines[-1] += (" " if lines[-1] != "" else "") + word
	if lines.size() > most:
		lines.resize(most)
		lines[-1] += " …"
	return lines
