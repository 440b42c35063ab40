"""The lab: the story to touch, in a browser, and a door in the OpenAI format for other programs.

``thinker`` owns the model and answers several clients side by side; ``door`` speaks the OpenAI format;
``guard`` lets nobody in who should not be; ``app`` puts the routes together; ``server`` runs them. ``views``
are what the pages talk to, ``static`` the pages themselves. Nothing here is loaded until it is used.
"""
