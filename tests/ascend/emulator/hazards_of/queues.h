// Tensors of queues taken, handed on and given back in the wrong order.
#pragma once

#include "kernels.h"

inline void hazards_of_queues(const List &add)
{
    add("queue_without_buffers", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        if (!wrong) {
            pipe.InitBuffer(queue, 1, 32);
        }
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.FreeTensor(tensor);
    });
    add("more_tensors_than_buffers", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 2> queue;
        pipe.InitBuffer(queue, 2, 32);
        LocalTensor<float> tensors[3];
        for (int at = 0; at < (wrong ? 3 : 2); ++at) {
            tensors[at] = queue.AllocTensor<float>();
        }
        queue.FreeTensor(tensors[0]);
        queue.FreeTensor(tensors[1]);
    });
    add("more_than_eight_outstanding", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> first, second;
        pipe.InitBuffer(first, 4, 32);
        // a second queue has its own ids only as far as they go
        pipe.InitBuffer(second, 4, 32);
        LocalTensor<float> tensors[9];
        for (int at = 0; at < 8; ++at) {
            tensors[at] = at < 4 ? first.AllocTensor<float>() : second.AllocTensor<float>();
        }
        if (wrong) {
            tensors[8] = second.AllocTensor<float>();
        }
        for (int at = 0; at < 8; ++at) {
            at < 4 ? first.FreeTensor(tensors[at]) : second.FreeTensor(tensors[at]);
        }
    });
    add("enqueue_beyond_depth", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 2, 32);
        for (int at = 0; at < 2; ++at) {
            LocalTensor<float> tensor = queue.AllocTensor<float>();
            DataCopy(tensor, Global(input), 8);
            queue.EnQue(tensor);
            if (!wrong) {
                tensor = queue.DeQue<float>();
                queue.FreeTensor(tensor);
            }
        }
    });
    add("enqueue_twice", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 2> queue;
        pipe.InitBuffer(queue, 2, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.EnQue(tensor);
        if (wrong) {
            queue.EnQue(tensor);
        }
        tensor = queue.DeQue<float>();
        queue.FreeTensor(tensor);
    });
    add("dequeue_from_empty", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        if (!wrong) {
            queue.EnQue(tensor);
        }
        tensor = queue.DeQue<float>();
        queue.FreeTensor(tensor);
    });
    add("free_twice", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.FreeTensor(tensor);
        if (wrong) {
            queue.FreeTensor(tensor);
        }
    });
    add("free_while_queued", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        queue.EnQue(tensor);
        if (!wrong) {
            queue.DeQue<float>();
        }
        queue.FreeTensor(tensor);
    });
    add("tensor_of_another_queue", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> first, second;
        pipe.InitBuffer(first, 1, 32);
        pipe.InitBuffer(second, 1, 32);
        LocalTensor<float> tensor = first.AllocTensor<float>();
        wrong ? second.FreeTensor(tensor) : first.FreeTensor(tensor);
    });
    add("tensor_never_freed", [] {
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queue;
        pipe.InitBuffer(queue, 1, 32);
        LocalTensor<float> tensor = queue.AllocTensor<float>();
        if (!wrong) {
            queue.FreeTensor(tensor);
        }
    });
}
