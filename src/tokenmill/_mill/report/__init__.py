"""report: a finished output -> facts about its corpus, and one offline page that shows them."""
