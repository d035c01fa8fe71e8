"""arq as a doorbell: it tells free workers that the table has something for them.

Named like a module of the standard library; all imports are absolute.
"""

from app.queue.doorbell import RedisDoorbell
from app.queue.worker import DoorbellWorker

__all__ = ["DoorbellWorker", "RedisDoorbell"]
