-- The view reads with the rights of whoever asks, so the policies of intents and self-deployments hold in it too: with
-- its owner's rights the role of the HTTP process saw the collections of every account. `collection_allowlist` stays
-- as it is: eligibility answers any account about any collection.
ALTER VIEW service.collection SET (security_invoker = true);
