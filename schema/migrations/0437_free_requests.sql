-- A free account has twenty transactions a day, and 300 requests that may spend, refused ones and dry runs included: each is up to
-- eleven calls of a node, and 500 of them every day were a euro a month. An operator who has set another number keeps it.
UPDATE service.plan SET deploy_requests_per_day = 300 WHERE tier = 'free' AND deploy_requests_per_day = 500;
