"""The page: what a person sees at ``/``; templates on the server, small modules in the browser."""
