extends Node
# Ties the parts together: the client's messages go to the office, which shows them, and to the watch, which prints
# them when there is no screen; the panel's wishes go to the client.

const names = ["Ada", "Grace", "Alan", "Edsger", "Barbara", "Donald", "Radia", "Niklaus"]

onready var client = $Client
onready var office = $Office
onready var status = $Panel/Status


func _ready():
	randomize()
	office.client = client
	$Watch.client = client
	$Watch.office = office
	client.connect("opened", self, "_on_opened")
	client.connect("closed", self, "_on_closed")
	client.connect("received", self, "_on_received")
	$Panel/Spawn.connect("pressed", self, "spawn")
	$Panel/Words.connect("text_entered", self, "_on_words")


# A new agent, wherever there is room.
func spawn():
	client.ask("agent_spawn_request", {"agent_config": {"name": names[randi() % names.size()], "role": "helper"}})


func _on_opened():
	status.text = "connected"
	client.ask("join_space", {"name": "Player"})


func _on_closed(reason):
	status.text = reason


func _on_received(message):
	office.take(message)
	$Watch.take(message)
	match message["type"]:
		"world_snapshot":
			# An empty office is sad: the first agent comes by itself.
			if int(message["page"]) == int(message["pages"]) and office.agents.empty():
				spawn()
		"error":
			status.text = str(message["message"])
		"agent_joined", "agent_left":
			status.text = "%d agents" % office.agents.size()


func _on_words(text):
	if text.strip_edges() == "":
		return
	var to = [office.chosen] if office.chosen != "" else null
	client.ask("chat_message", {"message": text, "to": to} if to else {"message": text})
	$Panel/Words.text = ""
