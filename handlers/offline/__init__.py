"""The offline judge: one pure function a task that answers in a model's place, in the task's own protocol."""
