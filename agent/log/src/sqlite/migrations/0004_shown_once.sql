-- Tokens and login links that were kept with the answers to an Idempotency-Key; they are not kept any more.
UPDATE idempotent_answers SET body = '{}' WHERE body LIKE '%"token":"cairn_sk_%' OR body LIKE '%"login_token":"%';
