"""Runs Debian's Swift from a directory of its own: its programs would read /etc/swift/swift.conf.

run-swift.py xattrs DIRECTORY         fails if files there cannot have the extended attributes that Swift keeps
run-swift.py rings DIRECTORY PORT...  writes the rings of the account, container and object server, one disk each
run-swift.py serve NAME CONFIG        runs the server NAME (proxy-server, ...), logs to the console
"""
import importlib
import os
import sys
import tempfile


def xattrs(directory):
    with tempfile.NamedTemporaryFile(dir=directory) as file:
        os.setxattr(file.name, 'user.swift.metadata', b'x' * 1000)


def rings(directory, *ports):
    from swift.common.ring import RingBuilder

    for kind, port in zip(('account', 'container', 'object'), ports):
        builder = RingBuilder(part_power=4, replicas=1, min_part_hours=0)
        builder.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': int(port), 'device': 'disk', 'weight': 1})
        builder.rebalance(seed=1)
        builder.get_ring().save(os.path.join(directory, kind + '.ring.gz'))


def serve(name, config):
    from swift.common import utils

    utils.set_swift_dir(os.path.dirname(config))
    # Modules that read swift.conf when they are loaded come after it was named.
    from swift.common.wsgi import run_wsgi

    options = {'verbose': True}
    if name == 'object-server':
        options['global_conf_callback'] = importlib.import_module('swift.obj.server').global_conf_callback
    return run_wsgi(config, name, **options)


if __name__ == '__main__':
    sys.exit({'xattrs': xattrs, 'rings': rings, 'serve': serve}[sys.argv[1]](*sys.argv[2:]))
