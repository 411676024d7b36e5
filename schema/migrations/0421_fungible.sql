-- An ERC-20 that indexes the value of its Transfer has ERC-721's logs. What it answers tells it apart; null: not asked yet.
ALTER TABLE service.contract_metadata ADD COLUMN fungible boolean;
