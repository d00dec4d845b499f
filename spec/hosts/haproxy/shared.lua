--- What all threads of HAProxy share.

local service = require "spec.hosts.haproxy.service"

service.rank "shared"
service.modes "modes"
service.who "who"
