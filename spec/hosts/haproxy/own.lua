--- What each thread of HAProxy has of its own.

local service = require "spec.hosts.haproxy.service"

service.rank "own"
service.script "script" -- in a sandbox, once the vectors are loaded
