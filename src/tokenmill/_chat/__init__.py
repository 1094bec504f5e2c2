"""chat: messages and a template -> the text of a conversation, with what in it may be trusted."""
