"""The session system: records, the prompt loop, one step of it, and what the model is sent.

Files import only from files further down this list: prompt · loop · step · processor · tool_calls · part_machine, retry ·
model_message, history · system, instruction, attachment · runs, status · store · live, limits, todo_store.
"""
