--- What each thread of HAProxy has of its own.

require "spec.hosts.haproxy.service".rank "own"
